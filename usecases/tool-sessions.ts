import {
  type CallResult,
  InvokeReply,
  type OpenSession,
  SESSION_LIMITS,
  toolSessionEvents,
} from '../actors/tool-session/messages.ts';
import { ToolSessionState } from '../actors/tool-session/state.ts';
import { ownerOf, projectToolSession, type ToolSessionDocument } from '../actors/tool-session/view.ts';
import { AuditRecord } from '../manifests/audit/record.ts';
import { ToolOutcome } from '../manifests/tool/call.ts';
import type { ToolOffer } from '../manifests/tool/scope.ts';
import { type Address, addressOf } from '../runtime/address.ts';
import type { Blobs } from '../runtime/blobs.ts';
import type { ActorClient, ActorEvent, CallOptions } from '../runtime/client.ts';
import { newestFirst, type Page, type PageAsked, pageOf, shownPage } from '../runtime/documents/pages.ts';
import type { Collection, Condition, StoredDocument } from '../runtime/documents.ts';
import { isErrorCode, SvcError } from '../runtime/errors.ts';
import { type Identity, seenPart, sees, tenantOfViewer, type Viewer } from '../runtime/identity.ts';
import { type Json, jsonField } from '../runtime/json.ts';
import { hashInTurns } from './large-values.ts';

type SessionEvents = Pick<ActorClient, 'events' | 'follow'>;

interface EndParts {
  readonly client: SessionEvents;
  readonly blobs: Pick<Blobs, 'get'>;
  readonly tenant: string;
  readonly address: Address;
}

/** The longest wait of a caller that gives no limit. */
const LONGEST_WAIT_MS = 3_600_000;
/** Long, since thousands of calls may wait at once. */
const MOST_LOOK_AGAIN_MS = 30_000;

/** The recorded result of a finished call. */
async function endOf(parts: EndParts, sequence: number): Promise<InvokeAnswer> {
  const [event] = await parts.client.events(parts.address, sequence - 1, 1);
  const ended = event === undefined ? null : endIn(event);
  if (ended === null) throw new SvcError('unavailable', 'the record of the call could not be read');
  return answerOf(parts, ended.result, true);
}

interface Waiting {
  readonly call: string;
  /** Sequence of the event with the call's decision. */
  readonly after: number;
  readonly replayed: boolean;
  /** Longest wait for the result, ms. */
  readonly resultWithinMs?: number | undefined;
}

/** Options of a call in a session. */
interface InvokeOptions extends CallOptions {
  /** Longest wait for the result of an accepted call, ms; then `deadline_exceeded`, and the tool continues. */
  readonly resultWithinMs?: number;
}

/** Waits for the result of a call that runs or has just ended. `signal` ends the wait, not the call. */
async function endBehind(
  parts: EndParts,
  { call, after, replayed, resultWithinMs = LONGEST_WAIT_MS }: Waiting,
  signal: AbortSignal = new AbortController().signal,
): Promise<InvokeAnswer> {
  const { client, address } = parts;
  const patience = { heartbeatMs: Math.max(0, resultWithinMs), mostLookAgainMs: MOST_LOOK_AGAIN_MS };
  for await (const event of client.follow(address, after, { signal, ...patience })) {
    if (event === null)
      throw new SvcError('deadline_exceeded', `no result within ${resultWithinMs} ms; the tool continues`);
    const ended = endIn(event);
    if (ended?.call === call) return answerOf(parts, ended.result, replayed);
  }
  if (!signal.aborted) throw new SvcError('unavailable', 'the session ended without the record of the call');
  if (signal.reason instanceof SvcError) throw signal.reason;
  throw new SvcError(
    'cancelled',
    'the caller stopped waiting; the call continues, and a repeat with its id returns the result',
  );
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

const Stored = ToolOutcome.pick({ content: true, structured: true });

/** The outcome with its whole content, which is read from its blob if it was stored in one. */
async function whole({ blobs, tenant }: EndParts, outcome: ToolOutcome): Promise<ToolOutcome> {
  const { stored, ...rest } = outcome;
  if (stored === undefined) return outcome;
  const bytes = await blobs.get(tenant, stored.ref);
  const { content, structured } = Stored.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  return { ...rest, content, ...(structured === undefined ? {} : { structured }) };
}

/** One call of a tool through a session. */
interface InvokeCall {
  /** The JSON-RPC id as text with its type: `n:1`, `s:abc`. A repeat of the same id is answered from the record. */
  readonly call: string;
  readonly tool: string | null;
  readonly arguments: unknown;
  /** Null for a caller of /mcp or /v1/tools, which sends no envelope. */
  readonly envelopeHash: string | null;
  readonly payloadHash: string;
  /** True when the session ends with this call (sources `mcp` and `rest`). */
  readonly last?: boolean;
}

export type InvokeAnswer =
  | { readonly kind: 'outcome'; readonly outcome: ToolOutcome; readonly replayed: boolean }
  /**
   * The policy denied the call. `reason` is from manifests/tool/decision.ts: `InvalidArguments` is 422 / -32602, all
   * others 403 / -32000.
   */
  | { readonly kind: 'denied'; readonly reason: string; readonly message: string; readonly retryAfterMs?: number }
  /** 403: the session is closed, revoked, or was never opened. */
  | { readonly kind: 'inactive'; readonly message: string }
  /** 400 / -32600: the same id with another payload, or no tool name. */
  | { readonly kind: 'invalid_request'; readonly message: string };

interface SessionSummary extends Omit<ToolSessionDocument, keyof StoredDocument | 'owner'> {
  readonly session_id: string;
}

/** Sessions in which agents and callers use tools. Each is an actor with an audit chain. */
export interface ToolSessionApi {
  /** Opens a session. Repeating it is harmless. */
  open(tenant: string, session: OpenSession, options?: CallOptions): Promise<void>;
  /**
   * Makes one call, from its decision to its result. `signal` ends the wait, not the call: a repeat of the same id gets
   * its result. Throws `unavailable`, `deadline_exceeded`, `cancelled` after `signal`, and the error that kept the tool
   * from running: a code of the error table, else `tool_failed`.
   */
  invoke(tenant: string, sessionId: string, call: InvokeCall, options?: InvokeOptions): Promise<InvokeAnswer>;
  /** Records an envelope that was refused before its sender was certain. Never throws for an unknown session. */
  refuse(
    tenant: string,
    sessionId: string,
    refusal: { readonly envelopeHash: string; readonly reason: string },
  ): Promise<void>;
  /**
   * The tools that the session may call, as pinned at its start. Throws `not_found`, `failed_precondition` when it is
   * closed.
   */
  tools(tenant: string, sessionId: string): Promise<readonly ToolOffer[]>;
  /** Closes the session for further calls. Throws `not_found`. */
  revoke(identity: Identity, sessionId: string): Promise<void>;
  /** The whole audit chain, from the actor or from the archive. Throws `not_found`. */
  audit(viewer: Viewer, sessionId: string): Promise<readonly AuditRecord[]>;
  /** Sessions of an execution, newest first. */
  list(viewer: Viewer, filter: PageAsked & { readonly executionId?: string }): Promise<Page<SessionSummary>>;
  /** One session, from its own committed state. Throws `not_found`. */
  get(viewer: Viewer, sessionId: string): Promise<SessionSummary>;
}

const MOST_LISTED = 1_000;

const NEWEST_FIRST = newestFirst('opened_at');

const PAGE = 500;

interface ToolSessionParts {
  readonly client: Pick<ActorClient, 'ask' | 'read'> & SessionEvents;
  /** The collection `TOOL_SESSIONS`. */
  readonly sessions: Collection<ToolSessionDocument>;
  /** Where large results are stored. */
  readonly blobs: Pick<Blobs, 'get'>;
}

/**
 * Implements `ToolSessionApi` over messages, events and committed states. Its only state is the list of waiting
 * refusals.
 */
export function createToolSessionApi(parts: ToolSessionParts): ToolSessionApi {
  const { client, sessions } = parts;
  const tellRefusal = refusalsInTurn(client);
  return {
    async open(tenant, session, options = {}) {
      const message: Json = JSON.parse(JSON.stringify(session));
      await client.ask(sessionAddress(tenant, session.session_id), 'Open', message, options);
    },

    async invoke(tenant, sessionId, call, options = {}) {
      const address = sessionAddress(tenant, sessionId);
      const reply = await begun(client, address, call, options);
      switch (reply.kind) {
        case 'ended':
          return endOf({ ...parts, tenant, address }, reply.sequence);
        case 'accepted': {
          const { sequence: after, replayed } = reply;
          const waiting = { call: call.call, after, replayed, resultWithinMs: options.resultWithinMs };
          return endBehind({ ...parts, tenant, address }, waiting, options.signal);
        }
        default:
          return reply;
      }
    },

    async refuse(tenant, sessionId, refusal) {
      const address = knownAddress(tenant, sessionId);
      if (address === null) return;
      // Reads the state first, so that a caller who guesses ids cannot create a message with each guess.
      const state = await stateOf(client, address);
      if (state?.status !== 'active' || state.counts.refused > SESSION_LIMITS.refusals) return;
      const { envelopeHash, reason } = refusal;
      await tellRefusal(address, { envelope_hash: envelopeHash, reason: reason.slice(0, 500) });
    },

    async tools(tenant, sessionId) {
      const state = await stateOf(client, sessionAddress(tenant, sessionId));
      if (state === null || state.session === null) throw unknownSession();
      if (state.status !== 'active' || state.grant === null) {
        throw new SvcError('failed_precondition', 'the session is not active');
      }
      return state.grant.tools;
    },

    async revoke(identity, sessionId) {
      const reason = `revoked by ${identity.subject.slice(0, 200)}`;
      await seenState(client, identity, sessionId);
      await found(client.ask(sessionAddress(identity.tenant, sessionId), 'Revoke', { reason }, { identity }));
    },

    async audit(viewer, sessionId) {
      const address = sessionAddress(tenantOfViewer(viewer), sessionId);
      await seenState(client, viewer, sessionId);
      const records: AuditRecord[] = [];
      for (;;) {
        const page = await client.events(address, records.length, PAGE);
        records.push(...page.map(({ payload }) => AuditRecord.parse(payload)));
        if (page.length < PAGE) break;
      }
      if (records.length === 0) throw unknownSession();
      return records;
    },

    async list(viewer, { executionId, ...page }) {
      const where: Record<string, Condition> = { ...seenPart(viewer) };
      if (executionId !== undefined) where.execution_id = executionId;
      const of = { tenant: tenantOfViewer(viewer), where, sort: NEWEST_FIRST };
      const asked = { ...page, limit: Math.min(page.limit, MOST_LISTED) };
      return shownPage(await pageOf(sessions, 'tool sessions', of, asked), summaryOf);
    },

    async get(viewer, sessionId) {
      const state = await seenState(client, viewer, sessionId);
      const shown = projectToolSession(state, { tenant: tenantOfViewer(viewer), id: sessionId });
      if (shown === null) throw unknownSession();
      return summaryOf(shown);
    },
  };
}

type Shown = Omit<ToolSessionDocument, 'version'>;

const summaryOf = (shown: Shown): SessionSummary => ({
  session_id: shown.id,
  execution_id: shown.execution_id,
  agent_id: shown.agent_id,
  source: shown.source,
  status: shown.status,
  calls: shown.calls,
  denied: shown.denied,
  opened_at: shown.opened_at,
});

const sessionAddress = (tenant: string, sessionId: string): Address => addressOf('tool-session', tenant, sessionId);

/** The session's address, or null for ids that cannot be one: they come from tokens without a verified signature. */
function knownAddress(tenant: string, sessionId: string): Address | null {
  try {
    return sessionAddress(tenant, sessionId);
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'invalid_argument') return null;
    throw thrown;
  }
}

const unknownSession = (): SvcError => new SvcError('not_found', 'session not found');

async function found<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') throw unknownSession();
    throw thrown;
  }
}

async function stateOf(client: Pick<ActorClient, 'read'>, address: Address): Promise<ToolSessionState | null> {
  const snapshot = await client.read(address);
  return snapshot === null ? null : ToolSessionState.parse(snapshot.state);
}

/** The session's state. Throws `not_found` when the viewer may not see it. */
async function seenState(
  client: Pick<ActorClient, 'read'>,
  viewer: Viewer,
  sessionId: string,
): Promise<ToolSessionState> {
  const state = await stateOf(client, sessionAddress(tenantOfViewer(viewer), sessionId));
  if (state === null || (state.session !== null && !sees(viewer, ownerOf(state.session).owner))) throw unknownSession();
  return state;
}

const INACTIVE = { kind: 'inactive' as const, message: 'the session is not active' };

async function begun(
  client: Pick<ActorClient, 'ask'>,
  address: Address,
  call: InvokeCall,
  options: CallOptions,
): Promise<InvokeReply> {
  const args = jsonField.parse(call.arguments ?? {});
  const message = {
    call: call.call,
    tool: call.tool,
    arguments: args,
    call_hash: await hashInTurns({ name: call.tool, arguments: args }),
    envelope_hash: call.envelopeHash,
    payload_hash: call.payloadHash,
    last: call.last === true,
  };
  try {
    return InvokeReply.parse(await client.ask(address, 'Invoke', message, options));
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return INACTIVE;
    throw thrown;
  }
}

/** Most refusals of one session that wait on this node; further ones are not recorded. */
const MOST_WAITING = 64;

const TIMEOUT_MS = 5_000;

/**
 * Returns a function that records refused envelopes in their sessions. It sends those of one session one after another,
 * since anyone can send such envelopes and the session's mailbox must stay free for its calls. Throws as
 * `ActorClient.ask`.
 */
export function refusalsInTurn(client: Pick<ActorClient, 'ask'>): (session: Address, refusal: Json) => Promise<void> {
  const waiting = new Map<Address, { count: number; last: Promise<unknown> }>();
  return async (session, refusal) => {
    const line = waiting.get(session) ?? { count: 0, last: Promise.resolve() };
    if (line.count >= MOST_WAITING) return;
    line.count += 1;
    waiting.set(session, line);
    const recorded = line.last.then(() => client.ask(session, 'Refuse', refusal, { timeoutMs: TIMEOUT_MS }));
    // The result of the previous refusal is handled by its own caller.
    line.last = recorded.catch(() => {});
    try {
      await recorded;
    } finally {
      line.count -= 1;
      if (line.count === 0) waiting.delete(session);
    }
  };
}
