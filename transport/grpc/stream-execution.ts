import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { type ExecutionEventName, executionEvents } from '../../actors/execution/events.ts';
import { ExecutionEvent } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import type { ActorEvent } from '../../runtime/client.ts';
import { isErrorCode, SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { ExecutionApi } from '../../usecases/executions.ts';
import { AccessWatch } from '../access-watch.ts';
import type { OpenStream, OpenStreams } from '../open-streams.ts';
import { admitAgain, atDeadline, ownerOf, traceOfCall } from './call-context.ts';
import type { GrpcLimits } from './limits.ts';
import { logRefusal } from './log.ts';
import type { GrpcLogger } from './parts.ts';
import type { StreamInBytes } from './service.ts';
import { statusOf } from './status.ts';

/** Response metadata, sent before the first event, so that the execution can also be followed over REST. */
const EXECUTION_ID_KEY = 'svc-execution-id';

/** Response metadata with what the execution waits for, as text, while no live node may serve it. */
const WAITING_KEY = 'svc-waiting-for';

/** Interval of the source's heartbeats, ms. Long, since the library keeps the connection alive. */
const HEARTBEAT_MS = 60_000;

type StreamCall = ServerWritableStream<Buffer, Buffer>;

interface StartedExecution {
  readonly tenant: string;
  readonly executionId: string;
  /** What the execution waits for; absent when a node serves it. */
  readonly waitingFor?: string;
  /** The source of its events. */
  readonly executions: Pick<ExecutionApi, 'follow'>;
}

/**
 * Starts the execution that a call asks for, or finds it when it was already started. The stream then begins at its
 * first event.
 */
type BeginExecution = (call: StreamCall, signal: AbortSignal) => Promise<StartedExecution>;

interface StreamParts {
  readonly streams: OpenStreams;
  readonly logger: GrpcLogger;
  readonly limits: GrpcLimits;
}

/**
 * A method that starts an execution and streams its recorded events from the first to the last. The end of the call, by
 * cancel, deadline or a lost connection, ends the stream and never the execution.
 */
export const streamExecution =
  (parts: StreamParts, begin: BeginExecution): StreamInBytes =>
  (call) => {
    run(call, begin, parts).then(
      () => call.end(),
      (thrown: unknown) => fail(call, toSvcError(thrown), parts),
    );
  };

async function run(call: StreamCall, begin: BeginExecution, parts: StreamParts): Promise<void> {
  using stream = parts.streams.open(ownerOf(call.metadata));
  using access = new AccessWatch(stream, {
    recheckMs: parts.limits.recheckMs,
    admit: () => admitAgain(call.metadata),
  });
  const { signal } = stream;
  const forgetDeadline = atDeadline(call.getDeadline(), () => stream.stop('client_gone'));
  call.once('cancelled', () => stream.stop('client_gone'));
  if (call.cancelled) stream.stop('client_gone');
  let started: StartedExecution | undefined;
  try {
    started = await begin(call, signal);
    const last = await follow(started, call, { stream, parts });
    if (!signal.aborted) judgeEnd(last);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    forgetDeadline();
  }
  if (access.refusal !== null) throw access.refusal;
  if (signal.aborted) throw stopped(signal.reason, started?.executionId);
}

/** Writes the events; returns the last one written. */
async function follow(
  { tenant, executionId, executions, waitingFor }: StartedExecution,
  call: StreamCall,
  { stream, parts }: { readonly stream: OpenStream; readonly parts: StreamParts },
): Promise<ActorEvent | null> {
  const first = new Metadata();
  first.set(EXECUTION_ID_KEY, executionId);
  if (waitingFor !== undefined) first.set(WAITING_KEY, waitingFor);
  call.sendMetadata(first);
  const writer = new EventWriter(call, stream, parts.limits);
  const options = { signal: stream.signal, heartbeatMs: HEARTBEAT_MS };
  let last: ActorEvent | null = null;
  for await (const event of executions.follow(tenant, executionId, 0, options)) {
    if (stream.signal.aborted) break;
    if (event === null) continue;
    await writer.write(encodeEvent(event));
    last = event;
  }
  return last;
}

/**
 * Throws the error of an execution whose stream was read to its end and that did not complete (W24): the code of its
 * end and the sentence with the cause. Status and trailers follow from them by the error table, as for every call.
 */
function judgeEnd(last: ActorEvent | null): void {
  if (last?.name !== 'execution_failed') return;
  const { reason, message } = executionEvents.execution_failed.parse(last.payload);
  const code = isErrorCode(reason) ? reason : 'internal';
  throw new SvcError(code, message === undefined || message === reason ? reason : `${reason}: ${message}`);
}

/** The error of a stream that was stopped. It never suggests to run the agent again. */
function stopped(reason: unknown, executionId: string | undefined): SvcError {
  const goesOn =
    executionId === undefined ? '' : `; the execution continues: follow it at /v1/executions/${executionId}/stream`;
  if (reason === 'too_slow') return new SvcError('cancelled', `the client did not read the events${goesOn}`);
  if (reason === 'unchecked') return new SvcError('unavailable', `the token could not be checked again${goesOn}`);
  if (reason === 'server_closing') return new SvcError('unavailable', `this node is closing${goesOn}`);
  return new SvcError('cancelled', `the client ended the call${goesOn}`);
}

/** Ends the stream with a status: the library takes it from the stream's error. */
function fail(call: StreamCall, error: SvcError, parts: StreamParts): void {
  const trace = traceOfCall(call.metadata);
  logRefusal(parts.logger, error, { path: call.getPath(), trace });
  call.emit('error', Object.assign(new Error(error.message), statusOf(error, trace)));
}

/**
 * Writes messages to a client no faster than it reads: beyond `unreadBytes` the next one waits. Stops the stream as
 * `too_slow` when the client leaves them unread for `drainTimeoutMs`.
 */
class EventWriter {
  readonly #call: ServerWritableStream<Buffer, Buffer>;
  readonly #stream: OpenStream;
  readonly #limits: { readonly unreadBytes: number; readonly drainTimeoutMs: number };
  #unreadBytes = 0;
  #wake = (): void => {};

  constructor(
    call: ServerWritableStream<Buffer, Buffer>,
    stream: OpenStream,
    limits: { readonly unreadBytes: number; readonly drainTimeoutMs: number },
  ) {
    this.#call = call;
    this.#stream = stream;
    this.#limits = limits;
  }

  /** Resolves when there is room for the next message or the stream was stopped. */
  async write(message: Buffer): Promise<void> {
    const { signal } = this.#stream;
    if (signal.aborted) return;
    this.#unreadBytes += message.length;
    this.#call.write(message, () => {
      this.#unreadBytes -= message.length;
      this.#wake();
    });
    if (this.#unreadBytes > this.#limits.unreadBytes) await this.#room();
  }

  async #room(): Promise<void> {
    const { signal } = this.#stream;
    const slow = setTimeout(() => this.#stream.stop('too_slow'), this.#limits.drainTimeoutMs);
    const onAbort = (): void => this.#wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (this.#unreadBytes > this.#limits.unreadBytes && !signal.aborted) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        slow.refresh();
      }
    } finally {
      clearTimeout(slow);
      signal.removeEventListener('abort', onAbort);
    }
  }
}

type Member = ExecutionEvent['event'];

/** Builders for the members of the oneof (G6): the recorded payloads have the fields of the messages. */
const MEMBERS: { readonly [Name in ExecutionEventName]: (payload: Json) => Member } = {
  execution_started: (payload) => ({
    $case: 'execution_started',
    value: executionEvents.execution_started.parse(payload),
  }),
  iteration_started: (payload) => ({
    $case: 'iteration_started',
    value: executionEvents.iteration_started.parse(payload),
  }),
  iteration_output: (payload) => ({
    $case: 'iteration_output',
    value: executionEvents.iteration_output.parse(payload),
  }),
  iteration_completed: (payload) => ({
    $case: 'iteration_completed',
    value: executionEvents.iteration_completed.parse(payload),
  }),
  iteration_failed: (payload) => ({
    $case: 'iteration_failed',
    value: executionEvents.iteration_failed.parse(payload),
  }),
  refinement_applied: (payload) => ({
    $case: 'refinement_applied',
    value: executionEvents.refinement_applied.parse(payload),
  }),
  execution_completed: (payload) => ({
    $case: 'execution_completed',
    value: executionEvents.execution_completed.parse(payload),
  }),
  execution_failed: (payload) => ({
    $case: 'execution_failed',
    value: executionEvents.execution_failed.parse(payload),
  }),
};

const isEventName = (name: string): name is ExecutionEventName => Object.hasOwn(MEMBERS, name);

/** Serialises one recorded event as an `ExecutionEvent`. */
function encodeEvent(event: ActorEvent): Buffer {
  const { name, payload, seq } = event;
  if (!isEventName(name)) throw new SvcError('internal', `event ${seq} has the name ${name}, which has no message`);
  const bytes = ExecutionEvent.encode({ event: MEMBERS[name](payload) }).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
