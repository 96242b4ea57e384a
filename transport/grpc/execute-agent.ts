import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { ExecuteAgentRequest } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import type { ActorEvent } from '../../runtime/client.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { IdempotencyKey } from '../idempotency.ts';
import type { OpenStream } from '../open-streams.ts';
import { startExecution } from '../start-execution.ts';
import { single } from './access.ts';
import { callerOf } from './call-context.ts';
import { atDeadline } from './deadline.ts';
import { EventWriter } from './event-writer.ts';
import { startCallOf } from './execute-agent-request.ts';
import { encodeEvent } from './execution-event.ts';
import { logRefusal } from './log.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type StreamInBytes } from './service.ts';
import { statusOf } from './status.ts';

/** Response metadata, sent before the first event: the execution can also be followed over REST. */
export const EXECUTION_ID_KEY = 'svc-execution-id';

/** Silence that the source reports; the connection is kept alive by the library. */
const HEARTBEAT_MS = 60_000;

type Call = ServerWritableStream<Buffer, Buffer>;

/**
 * ExecuteAgent (spec 1): starts an execution and streams its events as recorded, from the first to the last. The end of
 * the call, by cancel, deadline or a lost connection, ends the stream and never the execution.
 */
export const executeAgent =
  (parts: GrpcParts): StreamInBytes =>
  (call) => {
    run(call, parts).then(
      () => call.end(),
      (thrown: unknown) => fail(call, toSvcError(thrown), parts),
    );
  };

async function run(call: Call, parts: GrpcParts): Promise<void> {
  using stream = parts.streams.open();
  const { signal } = stream;
  const forgetDeadline = atDeadline(call.getDeadline(), () => stream.stop('client_gone'));
  call.once('cancelled', () => stream.stop('client_gone'));
  if (call.cancelled) stream.stop('client_gone');
  let executionId: string | undefined;
  try {
    executionId = await start(call, stream, parts);
    const last = await follow(executionId, call, { stream, parts });
    if (!signal.aborted) judgeEnd(last);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    forgetDeadline();
  }
  if (signal.aborted) throw stopped(signal.reason, executionId);
}

async function start(call: Call, { signal }: OpenStream, parts: GrpcParts): Promise<string> {
  const caller = callerOf(call.metadata);
  const asked = startCallOf(decoded(ExecuteAgentRequest, call.request), parts.limits);
  const key = idempotencyKeyOf(call.metadata);
  const { execution_id } = await startExecution(parts, asked, {
    ...caller,
    signal,
    ...(key === undefined ? {} : { idempotencyKey: key }),
  });
  return execution_id;
}

function idempotencyKeyOf(metadata: Metadata): string | undefined {
  const field = 'idempotency-key';
  const given = IdempotencyKey.optional().safeParse(single(metadata, field));
  if (given.success) return given.data;
  throw new SvcError('invalid_argument', `${field}: expected 1 to 255 visible ASCII characters`, { field });
}

/** Returns the last event that was written. */
async function follow(
  executionId: string,
  call: Call,
  { stream, parts }: { readonly stream: OpenStream; readonly parts: GrpcParts },
): Promise<ActorEvent | null> {
  const { tenant } = callerOf(call.metadata).identity;
  const first = new Metadata();
  first.set(EXECUTION_ID_KEY, executionId);
  call.sendMetadata(first);
  const writer = new EventWriter(call, stream, parts.limits);
  const options = { signal: stream.signal, heartbeatMs: HEARTBEAT_MS };
  let last: ActorEvent | null = null;
  for await (const event of parts.executions.follow(tenant, executionId, 0, options)) {
    if (stream.signal.aborted) break;
    if (event === null) continue;
    await writer.write(encodeEvent(event));
    last = event;
  }
  return last;
}

/** Throws what a stream that was read to its end ends with, unless it is OK (decided.md "Iteration loop"). */
function judgeEnd(last: ActorEvent | null): void {
  if (last?.name === 'execution_failed' && reasonOf(last) === 'max_iterations_exceeded') {
    throw new SvcError('iteration_limit', 'max_iterations_exceeded: no iteration was accepted');
  }
}

/** What a stream that was stopped ends with; never a hint to run the agent once more. */
function stopped(reason: unknown, executionId: string | undefined): SvcError {
  const goesOn =
    executionId === undefined ? '' : `; the execution goes on, follow it at /v1/executions/${executionId}/stream`;
  if (reason === 'too_slow') return new SvcError('cancelled', `the client did not read the events${goesOn}`);
  if (reason === 'server_closing') return new SvcError('unavailable', `this node is closing${goesOn}`);
  return new SvcError('cancelled', `the client ended the call${goesOn}`);
}

function reasonOf({ payload }: ActorEvent): unknown {
  return payload !== null && typeof payload === 'object' && !Array.isArray(payload) ? payload.reason : undefined;
}

/** The library takes the error of a stream as its status. */
function fail(call: Call, error: SvcError, parts: GrpcParts): void {
  const { trace } = callerOf(call.metadata);
  logRefusal(parts.logger, error, { path: call.getPath(), trace });
  call.emit('error', Object.assign(new Error(error.message), statusOf(error, trace)));
}
