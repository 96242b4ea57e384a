import { constants, type Http2Session, type Http2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import {
  type Deadline,
  status as grpcStatus,
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { asCallOf } from '../../runtime/calls/calls-of-effect.ts';
import { longTimer } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { CallingSpan } from '../../runtime/tracing/trace-context.ts';
import type { SealCaller } from '../../usecases/seal/parts.ts';
import { traceOf, traceparentOf } from '../health.ts';
import { type StreamOwner, streamOwner } from '../open-streams.ts';
import { isPublic, single } from './access.ts';
import { AnonymousCalls } from './anonymous-calls.ts';
import { CallRecord, type Ended, recordDenial } from './audit.ts';
import type { GrpcLimits } from './limits.ts';
import { logRefusal } from './log.ts';
import type { EndpointParts } from './parts.ts';
import { statusOf } from './status.ts';

export type UnaryCall = ServerUnaryCall<Buffer, Buffer>;

interface CallContext {
  /** The caller; null for public methods. */
  readonly identity: Identity | null;
  /** W3C trace id of the call. */
  readonly trace: string;
  /** Marks a start as durable, for calls that bring new work: admission then stops counting it. */
  readonly begun: () => void;
  /** Admits the call once more. */
  readonly admit: () => Promise<Identity | null>;
}

/** Contexts by the call's metadata object, the only object that interceptors and handlers share. */
const contexts = new WeakMap<Metadata, CallContext>();

/** Identity and trace of an admitted call. */
export function callerOf(metadata: Metadata): { readonly identity: Identity; readonly trace: string } {
  const { identity, trace } = contextOf(metadata);
  if (identity === null) throw new SvcError('internal', 'a method without an admitted caller asked for its caller');
  return { identity, trace };
}

/** The owner that a call's stream counts for; undefined for a method without a caller. */
export function ownerOf(metadata: Metadata): StreamOwner | undefined {
  const { identity } = contextOf(metadata);
  return identity === null ? undefined : streamOwner(identity);
}

/** Checks once more, for an open stream, that its caller may make the call. Throws as the first check does. */
export async function admitAgain(metadata: Metadata): Promise<void> {
  await contextOf(metadata).admit();
}

/** W3C trace id of an admitted call. */
export const traceOfCall = (metadata: Metadata): string => contextOf(metadata).trace;

/**
 * Reports that the start of this call is durable, for calls whose answer comes much later. For every other call the
 * answer itself shows that.
 */
export const hasBegun = (metadata: Metadata): void => contextOf(metadata).begun();

function contextOf(metadata: Metadata): CallContext {
  const context = contexts.get(metadata);
  if (context === undefined) throw new SvcError('internal', 'a call that was never admitted reached its method');
  return context;
}

type Entrance = Pick<
  EndpointParts,
  'admit' | 'hasCaller' | 'enter' | 'messageBytes' | 'trailers' | 'limits' | 'logger' | 'operationAudit' | 'proxies'
>;

/**
 * Gives every call its trace and identity or refuses it before its message is read, so that a caller without a token
 * cannot make the node hold a payload. Then limits the message in bytes and in time.
 */
export function callContext(parts: Entrance): ServerInterceptor {
  const anonymous = new AnonymousCalls(parts.limits, parts.proxies);
  return ({ path, requestStream }, call) => {
    endRefusedRequests(call);
    let traceparent: string | undefined;
    let calling: CallingSpan | null = null;
    let begun = (): void => {};
    const record = new CallRecord();
    const ended = (status: Ended): Ended => withTrailers(withTrace(status, traceparent), parts.trailers?.(path));
    const ends: (() => void)[] = [];
    let isOver = false;
    const end = (): void => {
      isOver = true;
      for (const each of ends.splice(0)) each();
    };
    const arrival = new Arrival(parts.limits.requestTimeoutMs, () => {
      const late = new SvcError('request_timed_out');
      end();
      record.endsBy(late);
      call.sendStatus(ended(statusOf(late, '')));
    });
    ends.push(() => arrival.over());
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata: (metadata, proceed) => {
            const { trace, caller } = traceOf(single(metadata, 'traceparent'), single(metadata, 'tracestate'));
            calling = caller;
            traceparent = traceparentOf(trace);
            const arrived = { path, trace, peer: call.getPeer(), metadata };
            const refused = (thrown: unknown): void => {
              end();
              recordDenial(parts, toSvcError(thrown), arrived);
              call.sendStatus(ended(refusal(toSvcError(thrown), { path, trace }, parts)));
            };
            try {
              begun = parts.enter?.(path) ?? begun;
              ends.push(begun);
              if (isPublic(path)) ends.push(anonymous.enter(call.getPeer()));
            } catch (thrown) {
              return refused(thrown);
            }
            const admitted = async (): Promise<void> => {
              const admit = () => admitCall(path, { metadata, authority: call.getHost() }, parts);
              const identity = await admit();
              if (parts.hasCaller?.(path, metadata) ?? identity !== null) raiseCalls(call, parts.limits);
              await record.begin(parts, identity, arrived);
              contexts.set(metadata, { identity, trace, begun, admit });
              boundMessages(call, bytesOf(path, metadata, parts), (tooLarge) => {
                record.endsBy(tooLarge);
                return ended(statusOf(tooLarge, ''));
              });
              arrival.wait();
            };
            admitted().then(() => asCallOf(calling, () => proceed(metadata)), refused);
          },
          onReceiveMessage: (message, proceed) => {
            if (message === UNREADABLE) {
              end();
              call.sendStatus(ended(statusOf(new SvcError('invalid_argument', NOT_A_MESSAGE), '')));
              return;
            }
            if (requestStream) arrival.wait();
            asCallOf(calling, () => proceed(message));
          },
          onReceiveHalfClose: (proceed) => {
            // The library ends the request of a call that was cancelled or was late as well. Its method must not run.
            if (isOver || isClosed(call)) return;
            arrival.over();
            record.withMethod();
            asCallOf(calling, proceed);
          },
          onCancel: () => {
            end();
            record.gone(call.getDeadline());
          },
        }),
      sendMessage: (message, next) => {
        record.answered();
        next(message);
      },
      sendMetadata: (metadata, next) => {
        begun();
        if (traceparent !== undefined) metadata.set('traceparent', traceparent);
        next(metadata);
      },
      sendStatus: (status, next) => {
        end();
        record.ended(status, (final) => next(ended(final)));
      },
    });
  };
}

/** Marks a request of a library's method that could not be decoded. */
const UNREADABLE = Object.freeze({ message: 'unreadable' });

/** Public text for a request whose bytes are no message of the method. */
export const NOT_A_MESSAGE = 'the request is not a valid message of this method';

/**
 * Decodes the requests of a method that a library serves. The call of a request that cannot be decoded ends with
 * INVALID_ARGUMENT; the gRPC library would make it INTERNAL, as if the node had failed.
 */
export const readable =
  (decode: (bytes: Buffer) => unknown) =>
  (bytes: Buffer): unknown => {
    try {
      return decode(bytes);
    } catch {
      return UNREADABLE;
    }
  };

const bytesOf = (path: string, metadata: Metadata, { limits, messageBytes }: Entrance): number =>
  isPublic(path) ? limits.strangerBytes : (messageBytes?.(path, metadata) ?? limits.messageBytes);

/** Ends a call whose request does not arrive completely in time. */
class Arrival {
  readonly #ms: number;
  readonly #late: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(ms: number, late: () => void) {
    this.#ms = ms;
    this.#late = late;
  }

  /** Starts the time-out again. */
  wait(): void {
    clearTimeout(this.#timer);
    if (!this.#isOver) this.#timer = setTimeout(this.#late, this.#ms).unref();
  }

  over(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

/** Allows the connection of an admitted call as many calls as a caller may have. Until then it has few. */
function raiseCalls(call: ServerInterceptingCallInterface, { callsPerConnection }: GrpcLimits): void {
  const { session } = streamOf(call);
  if (session === undefined || session.closed || session.destroyed || raised.has(session)) return;
  raised.add(session);
  session.settings({ maxConcurrentStreams: callsPerConnection });
}

const raised = new WeakSet<Http2Session>();

async function admitCall(
  path: string,
  { metadata, authority }: { readonly metadata: Metadata; readonly authority: string },
  parts: Entrance,
): Promise<Identity | null> {
  if (sizeOf(metadata) > parts.limits.metadataBytes) throw new SvcError('headers_too_large');
  return parts.admit(path, metadata, authority);
}

function refusal(error: SvcError, at: { readonly path: string; readonly trace: string }, parts: Entrance): Ended {
  logRefusal(parts.logger, error, at);
  return statusOf(error, at.trace);
}

function withTrailers(status: Ended, trailers: Readonly<Record<string, string>> | undefined): Ended {
  if (trailers === undefined) return status;
  const metadata = status.metadata?.clone() ?? new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value);
  return { ...status, metadata };
}

/** Adds the trace to the status of an error. A successful call sent it at the start. */
function withTrace(status: Ended, traceparent: string | undefined): Ended {
  if (status.code === 0 || traceparent === undefined) return status;
  const metadata = status.metadata?.clone() ?? new Metadata();
  metadata.set('traceparent', traceparent);
  return { ...status, metadata };
}

/** Size as HTTP/2 counts it: names, values and 32 bytes for each pair. */
function sizeOf(metadata: Metadata): number {
  let bytes = 0;
  for (const [key, values] of Object.entries(metadata.toHttp2Headers())) {
    for (const value of [values].flat()) bytes += key.length + String(value ?? '').length + 32;
  }
  return bytes;
}

/**
 * Lowers the size limit of one call's messages before any of them is read. The library has one limit for all methods of
 * a server, so a caller of a small method could use as much memory as one of a large method. Changes internal fields of
 * the library; throws `internal` when a version of it has other fields, which tests detect first.
 */
function boundMessages(
  call: ServerInterceptingCallInterface,
  bytes: number,
  ended: (tooLarge: SvcError) => Ended,
): void {
  const decoder: unknown = Reflect.get(call, 'decoder');
  const isKnown =
    typeof decoder === 'object' &&
    decoder !== null &&
    typeof Reflect.get(decoder, 'maxReadMessageLength') === 'number' &&
    typeof Reflect.get(call, 'maxReceiveMessageSize') === 'number';
  if (!isKnown)
    throw new SvcError(
      'internal',
      'this version of the gRPC library is not supported: it limits the size of messages in another place',
    );
  Reflect.set(decoder, 'maxReadMessageLength', bytes);
  // The limit for a compressed message after decompression.
  Reflect.set(call, 'maxReceiveMessageSize', bytes);
  // The library ends the call of a message over the limit itself, with RESOURCE_EXHAUSTED and without our trailers.
  const send = call.sendStatus.bind(call);
  const tooLarge = new SvcError('payload_too_large', `the message is larger than ${bytes} bytes`);
  Reflect.set(call, 'sendStatus', (status: Ended) => send(isOversize(status) ? ended(tooLarge) : status));
}

/** Whether the client has closed the stream of a call, which the library says only later. */
const isClosed = (call: ServerInterceptingCallInterface): boolean => streamOf(call).closed;

/** The HTTP/2 stream of a call: an internal field too. */
function streamOf(call: ServerInterceptingCallInterface): Http2Stream {
  const stream: unknown = Reflect.get(call, 'stream');
  if (isHttp2Stream(stream)) return stream;
  throw new SvcError(
    'internal',
    'this version of the gRPC library is not supported: it holds the stream of a call in another place',
  );
}

const isHttp2Stream = (stream: unknown): stream is Http2Stream =>
  stream instanceof Duplex && typeof Reflect.get(stream, 'closed') === 'boolean' && 'rstCode' in stream;

/**
 * Closes the stream of a call that is answered by a status alone before its request has ended (RFC 9113, 8.1). Otherwise it would
 * stay open, and cost memory, for as long as its client likes.
 */
function endRefusedRequests(call: ServerInterceptingCallInterface): void {
  const send = call.sendStatus.bind(call);
  Reflect.set(call, 'sendStatus', (status: Ended) => {
    const stream = streamOf(call);
    const isAlone = !('headersSent' in stream) || stream.headersSent !== true;
    send(status);
    if (isAlone && !stream.readableEnded && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
  });
}

const isOversize = ({ code, details }: Ended): boolean =>
  code === grpcStatus.RESOURCE_EXHAUSTED &&
  /^Received message (?:larger than max|that decompresses to a size larger)/.test(details ?? '');

/** Finds the caller of an agent's call; null when no metadata names one. Each endpoint has its own. */
export type SealCallers = (metadata: Metadata) => SealCaller | null | Promise<SealCaller | null>;

/**
 * The caller on the public endpoint: the tenant of the bearer token. A call without a token, where those are allowed,
 * is not verified.
 */
export const sealCaller: SealCallers = (metadata) => {
  const { identity } = callerOf(metadata);
  return { tenant: identity.tenant, identity, verified: identity.kind !== 'local' };
};

/** Runs `work` with a signal that aborts when the call has ended, for the reason that it gives. The work itself continues. */
export async function whileCalled<T>(call: UnaryCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const onCancel = (): void => ended.abort(new SvcError('cancelled', 'the call was cancelled'));
  const onDeadline = (): void => ended.abort(new SvcError('deadline_exceeded', 'the deadline of the call passed'));
  const forgetDeadline = atDeadline(call.getDeadline(), onDeadline);
  call.once('cancelled', onCancel);
  if (call.cancelled) onCancel();
  try {
    return await work(ended.signal);
  } finally {
    forgetDeadline();
    call.off('cancelled', onCancel);
  }
}

/**
 * Runs `call` when the deadline passes; returns a function that cancels it. Needed because the library answers the
 * client itself but informs a handler only after the client has read the last bytes, which a client that reads nothing
 * never does.
 */
export function atDeadline(deadline: Deadline, call: () => void): () => void {
  const leftMs = Number(deadline) - Date.now();
  if (!Number.isFinite(leftMs)) return () => {};
  return longTimer(Math.max(0, leftMs), call);
}
