import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type Address, addressOf } from '../../../runtime/address.ts';
import type { Blobs } from '../../../runtime/blobs.ts';
import type { ActorClient, ActorSnapshot, CallOptions } from '../../../runtime/client.ts';
import { isErrorCode, SvcError } from '../../../runtime/errors.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { DispatchApi, GatewayAnswer } from '../dispatch-api.ts';
import { ExecutionState } from '../state.ts';
import { dispatchOf } from './dispatched.ts';
import { withoutBulk } from './dispatched-bulk.ts';
import type { Loop } from './state.ts';

const Reply = z.object({ iteration: z.number().int() });

type DispatchClient = Pick<ActorClient, 'ask' | 'read'>;

/**
 * How long to wait before the state is looked at again: a round takes some milliseconds, or a model's time. The pauses
 * grow with the time that has passed, so that a look too late adds a twentieth to it.
 */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 1_000;
const PAUSE_PART = 1 / 20;

/** The dispatch gateway's calls over messages and committed states: what is answered is what is durable. */
export function createDispatchApi({
  client,
  blobs,
}: {
  readonly client: DispatchClient;
  readonly blobs: Pick<Blobs, 'put'>;
}): DispatchApi {
  async function call(address: Address, type: string, payload: Json, options: CallOptions): Promise<GatewayAnswer> {
    const { iteration } = Reply.parse(await client.ask(address, type, payload, options));
    return awaitAnswer(client, address, iteration, options.signal);
  }
  return {
    generate(tenant, executionId, request, options = {}) {
      const messages = [...request.messages];
      return call(addressOf('execution', tenant, executionId), 'Generate', { ...request, messages }, options);
    },
    async dispatchResult(tenant, executionId, result, options = {}) {
      const address = addressOf('execution', tenant, executionId);
      return call(address, 'DispatchEnded', await withoutBulk(blobs, address, result), options);
    },
  };
}

async function awaitAnswer(
  client: DispatchClient,
  address: Address,
  iteration: number,
  signal: AbortSignal | undefined,
): Promise<GatewayAnswer> {
  let known: ActorSnapshot | null = null;
  for (let waitedMs = 0; ; ) {
    const snapshot: ActorSnapshot | null = await client.read(address, known);
    // What has not changed is not looked through again.
    const answer = known !== null && snapshot === known ? null : answerOf(snapshot, iteration);
    if (answer !== null) return answer;
    known = snapshot;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, waitedMs * PAUSE_PART));
    waitedMs += pauseMs;
    try {
      await pause(pauseMs, undefined, signal === undefined ? {} : { signal });
    } catch (cause) {
      throw new SvcError('cancelled', 'the caller stopped waiting; the same call again goes on', { cause });
    }
  }
}

/** Null: the loop goes on. Throws what ended it. */
function answerOf(snapshot: ActorSnapshot | null, iteration: number): GatewayAnswer | null {
  const state = snapshot === null ? null : ExecutionState.parse(snapshot.state);
  if (state === null || state.status === 'pending') throw new SvcError('not_found', 'execution not found');
  if (state.status !== 'running') {
    throw new SvcError(
      'failed_precondition',
      `the execution is ${state.status}: ${state.last_error ?? 'it has ended'}`,
    );
  }
  const { loop } = state.current;
  if (state.iteration_count !== iteration || loop === undefined) {
    const text = `iteration ${iteration} is over: ${state.last_error ?? `iteration ${state.iteration_count} runs`}`;
    throw new SvcError('failed_precondition', text);
  }
  if (loop.phase === 'failed') throw failureOf(loop);
  if (loop.phase === 'final') return finalOf(loop);
  const open = loop.calls.find(({ status }) => status === 'dispatched');
  return open === undefined ? null : dispatchOf(open);
}

function failureOf({ failure }: Loop): SvcError {
  const { code, message } = failure ?? { code: 'internal', message: 'the loop failed' };
  if (isErrorCode(code)) return new SvcError(code, message);
  return new SvcError('failed_precondition', `${code}: ${message}`);
}

function finalOf({ messages, executed }: Loop): GatewayAnswer {
  const content = messages.at(-1)?.content;
  const conversation: readonly JsonObject[] = messages;
  return {
    type: 'final',
    content: typeof content === 'string' ? content : '',
    tool_calls_executed: executed,
    conversation,
  };
}
