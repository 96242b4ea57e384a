import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { traceOfCall, type UnaryCall } from './call-context.ts';
import { logRefusal } from './log.ts';
import type { GrpcLogger, GrpcParts } from './parts.ts';
import { statusOf } from './status.ts';

const bytes = (value: Buffer): Buffer => value;

/**
 * A method whose messages stay bytes for the library: the handler decodes, so what cannot be decoded gets our error
 * instead of INTERNAL, and it knows how large an answer is.
 */
export const inBytes = <M extends { readonly path: string }>(method: M) => ({
  ...method,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});

export type UnaryInBytes = handleUnaryCall<Buffer, Buffer>;

export type StreamInBytes = handleServerStreamingCall<Buffer, Buffer>;

/** Decodes a request; throws `invalid_argument` when the bytes are not that message. */
export function decoded<T>(message: { decode(input: Uint8Array): T }, request: Buffer): T {
  try {
    return message.decode(request);
  } catch (cause) {
    throw new SvcError('invalid_argument', 'the request is not a valid message of this method', { cause });
  }
}

/** A method with one answer: what `handle` resolves with is the serialised message, what it throws is the status. */
export const unary =
  (parts: { readonly logger: GrpcLogger }, handle: (call: UnaryCall) => Promise<Uint8Array>): UnaryInBytes =>
  (call, answer) => {
    handle(call).then(
      (message) => answer(null, Buffer.from(message.buffer, message.byteOffset, message.byteLength)),
      (thrown: unknown) => {
        const error = toSvcError(thrown);
        const trace = traceOfCall(call.metadata);
        logRefusal(parts.logger, error, { path: call.getPath(), trace });
        answer(statusOf(error, trace));
      },
    );
  };

/** A method that is specified and not served by this version: UNIMPLEMENTED for a caller and a request that are valid. */
export const unserved = (parts: GrpcParts, message: { decode(input: Uint8Array): unknown }): UnaryInBytes =>
  unary(parts, async (call) => {
    decoded(message, call.request);
    throw new SvcError('unimplemented', `${call.getPath().slice(1)} is specified but not served by this version`);
  });
