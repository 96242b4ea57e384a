import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { ceilings, dispatchedCommand } from '../actors/execution/inner-loop/dispatched.ts';
import type { Loop, LoopCall } from '../actors/execution/inner-loop/state.ts';
import { ExecutionState } from '../actors/execution/state.ts';
import { STORED_ABOVE_BYTES } from '../manifests/tool/call.ts';
import { COMMAND_TAIL_CHARS, textContent } from '../manifests/tool/contract.ts';
import { type Address, addressOf, tenantOf } from '../runtime/address.ts';
import type { Blobs } from '../runtime/blobs.ts';
import type { ActorClient, ActorSnapshot, CallOptions } from '../runtime/client.ts';
import { isErrorCode, SvcError } from '../runtime/errors.ts';
import type { Json, JsonObject } from '../runtime/json.ts';
import type { DispatchApi, DispatchResult, GatewayAnswer } from './gateway.ts';

const Reply = z.object({ iteration: z.number().int() });

type DispatchClient = Pick<ActorClient, 'ask' | 'read'>;

/**
 * Pause before the state is read again. A round takes some milliseconds, or the time of a model call: the pauses grow
 * with the time that has passed, so that polling adds at most a twentieth to it.
 */
const FIRST_PAUSE_MS = 5;

const LONGEST_PAUSE_MS = 1_000;

const PAUSE_PART = 1 / 20;

/**
 * Implements the dispatch gateway over messages and committed states: every answer is durable before it is returned.
 */
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
    // An unchanged snapshot has no new answer.
    const answer = known !== null && snapshot === known ? null : answerOf(snapshot, iteration);
    if (answer !== null) return answer;
    known = snapshot;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, waitedMs * PAUSE_PART));
    waitedMs += pauseMs;
    try {
      await pause(pauseMs, undefined, signal === undefined ? {} : { signal });
    } catch (cause) {
      throw new SvcError('cancelled', 'the caller stopped waiting; repeat the same call to continue the loop', {
        cause,
      });
    }
  }
}

/** Returns null while the loop continues. Throws the error that ended the loop. */
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

/**
 * Prepares a result for the message DispatchEnded: a large result is stored whole as a blob and the message carries its
 * reference, as for tools that run in the node. The same result always gets the same reference.
 */
async function withoutBulk(blobs: Pick<Blobs, 'put'>, address: Address, result: DispatchResult): Promise<JsonObject> {
  const { stdout, stderr, exit_code } = result;
  const structured = { stdout, stderr, exit_code };
  const text = JSON.stringify(structured);
  const whole = Buffer.from(JSON.stringify({ content: textContent(text), structured }));
  if (whole.length <= STORED_ABOVE_BYTES) return { ...result };
  const ends = { stdout: stdout.slice(-COMMAND_TAIL_CHARS), stderr: stderr.slice(-COMMAND_TAIL_CHARS) };
  // A result that exceeded a ceiling keeps only the ends of its output.
  if (result.truncated) return { ...result, ...ends };
  const ref = await blobs.put(tenantOf(address), whole, address);
  return { ...result, ...ends, stored: { ref, bytes: whole.length, head: text.slice(0, STORED_ABOVE_BYTES) } };
}

type Dispatch = Extract<GatewayAnswer, { readonly type: 'dispatch' }>;

/** The dispatch that asks the agent's own bootstrap to run a call (W28). `action` is always `exec`. */
function dispatchOf({ dispatch_id = '', allowed }: LoopCall): Dispatch {
  return {
    type: 'dispatch',
    dispatch_id,
    action: 'exec',
    ...dispatchedCommand(allowed),
    cwd: '/workspace',
    env_additions: {},
    ...ceilings(allowed),
  };
}
