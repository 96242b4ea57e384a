import type { handleServerStreamingCall, handleUnaryCall } from '@grpc/grpc-js';
import { SvcError } from '../../runtime/errors.ts';

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
