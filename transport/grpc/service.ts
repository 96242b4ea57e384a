import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { NOT_A_MESSAGE, traceOfCall, type UnaryCall } from './call-context.ts';
import { logRefusal } from './log.ts';
import type { GrpcLogger, GrpcParts } from './parts.ts';
import { statusOf } from './status.ts';

const bytes = (value: Buffer): Buffer => value;

/**
 * A method whose messages the library passes on as bytes. The handler decodes them, so a message that cannot be decoded
 * gets this product's error instead of INTERNAL, and the handler knows the size of its answer.
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

/** Decodes a request. Throws `invalid_argument` when the bytes are not such a message. */
export function decoded<T>(message: { decode(input: Uint8Array): T }, request: Buffer): T {
  try {
    return message.decode(request);
  } catch (cause) {
    throw new SvcError('invalid_argument', NOT_A_MESSAGE, { cause });
  }
}

/** A method with one answer: `handle` resolves with the serialised message or throws the error of the status. */
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

/**
 * A specified method that this version does not serve: answers UNIMPLEMENTED to an authenticated caller with a valid
 * request.
 */
export const unserved = (parts: GrpcParts, message: { decode(input: Uint8Array): unknown }): UnaryInBytes =>
  unary(parts, async (call) => {
    decoded(message, call.request);
    throw new SvcError('unimplemented', `${call.getPath().slice(1)} is specified but not served by this version`);
  });
