import { z } from 'zod';
import type { ToolOutcome } from '../manifests/tool/call.ts';
import type { Address } from '../runtime/address.ts';
import type { Blobs } from '../runtime/blobs.ts';
import type { ActorClient, ActorEvent } from '../runtime/client.ts';
import { isErrorCode, SvcError } from '../runtime/errors.ts';
import type { InvokeAnswer } from './tool-session-api.ts';
import { type CallResult, toolSessionEvents } from '../actors/tool-session/messages.ts';

export type SessionEvents = Pick<ActorClient, 'events' | 'follow'>;

export interface EndParts {
  readonly client: SessionEvents;
  readonly blobs: Pick<Blobs, 'get'>;
  readonly tenant: string;
  readonly address: Address;
}

/** Heartbeats are ignored here. */
const HEARTBEAT_MS = 3_600_000;
/** Long, since thousands of calls may wait. */
const MOST_LOOK_AGAIN_MS = 30_000;

/** The recorded end of a finished call. */
export async function endOf(parts: EndParts, sequence: number): Promise<InvokeAnswer> {
  const [event] = await parts.client.events(parts.address, sequence - 1, 1);
  const ended = event === undefined ? null : endIn(event);
  if (ended === null) throw new SvcError('unavailable', 'the record of the call could not be read');
  return answerOf(parts, ended.result, true);
}

export interface Waiting {
  readonly call: string;
  /** Event of its decision. */
  readonly after: number;
  readonly replayed: boolean;
}

/** Waits for the end of a call that runs, or ran just now. `signal` ends the wait, not the call. */
export async function endBehind(
  parts: EndParts,
  { call, after, replayed }: Waiting,
  signal: AbortSignal = new AbortController().signal,
): Promise<InvokeAnswer> {
  const { client, address } = parts;
  const patience = { heartbeatMs: HEARTBEAT_MS, mostLookAgainMs: MOST_LOOK_AGAIN_MS };
  for await (const event of client.follow(address, after, { signal, ...patience })) {
    const ended = event === null ? null : endIn(event);
    if (ended?.call === call) return answerOf(parts, ended.result, replayed);
  }
  if (!signal.aborted) throw new SvcError('unavailable', 'the session ended without the record of the call');
  if (signal.reason instanceof SvcError) throw signal.reason;
  throw new SvcError('cancelled', 'the caller stopped waiting; the call goes on and its id asks for its result');
}

function endIn({ name, payload }: ActorEvent): { readonly call: string; readonly result: CallResult } | null {
  if (name !== 'CallEnded') return null;
  const { body, result } = toolSessionEvents.CallEnded.parse(payload);
  return body.kind !== 'ended' || result === undefined ? null : { call: body.call, result };
}

async function answerOf(parts: EndParts, result: CallResult, replayed: boolean): Promise<InvokeAnswer> {
  if (result.kind === 'failed') {
    const { code, message } = result;
    throw isErrorCode(code) ? new SvcError(code, message) : new SvcError('tool_failed', message);
  }
  if (result.kind === 'outcome') return { kind: 'outcome', outcome: await whole(parts, result.outcome), replayed };
  const { retry_after_ms, ...denied } = result;
  return { ...denied, ...(retry_after_ms === undefined ? {} : { retryAfterMs: retry_after_ms }) };
}

const Stored = z.object({
  content: z.array(z.record(z.string(), z.json())),
  structured: z.record(z.string(), z.json()).optional(),
});

/** The outcome with its whole content, which may be stored as a blob. */
async function whole({ blobs, tenant }: EndParts, outcome: ToolOutcome): Promise<ToolOutcome> {
  const { stored, ...rest } = outcome;
  if (stored === undefined) return outcome;
  const bytes = await blobs.get(tenant, stored.ref);
  const { content, structured } = Stored.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  return { ...rest, content, ...(structured === undefined ? {} : { structured }) };
}
