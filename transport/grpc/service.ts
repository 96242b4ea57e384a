import { BinaryReader } from '@bufbuild/protobuf/wire';
import { type handleServerStreamingCall, type handleUnaryCall, Metadata } from '@grpc/grpc-js';
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

/** Most fields of a request, those of nested messages included; as many as JSON may have values over REST. */
const MOST_FIELDS = 100_000;

/** The generated code reads a number for the tag of a field, and mostly one for its length. */
const MOST_NUMBERS = 2 * MOST_FIELDS;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The library puts a replacement character in the place of bytes that are no UTF-8, so another text than the sent one would count. */
function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new SvcError('invalid_argument', 'the request has text that is not valid UTF-8', { field: 'request', cause });
  }
}

/** The largest whole number that this product can keep exactly. */
const MOST_INTEGER = Number.MAX_SAFE_INTEGER;

/** Stops before it builds more fields than a request may have: a request of 16 MiB has room for eight million. */
class BoundedReader extends BinaryReader {
  constructor(bytes: Uint8Array) {
    super(bytes, textOf);
    let left = MOST_NUMBERS;
    const read = this.uint32;
    this.uint32 = () => {
      left -= 1;
      if (left < 0)
        throw new SvcError('payload_too_large', `the request has more than ${MOST_FIELDS} fields`, {
          field: 'request',
        });
      return read.call(this);
    };
  }

  /** The generated code throws an error without a text for callers when a number is too large for it. */
  override uint64(): bigint | string {
    const value = super.uint64();
    if (BigInt(value) > MOST_INTEGER)
      throw new SvcError('invalid_argument', `the request has a whole number above ${MOST_INTEGER}`, {
        field: 'request',
      });
    return value;
  }
}

interface Decodable<T> {
  decode(input: BinaryReader): T;
}

/** Decodes a request. Throws `invalid_argument` when the bytes are not such a message, `payload_too_large`. */
export function decoded<T>(message: Decodable<T>, request: Uint8Array): T {
  try {
    return message.decode(new BoundedReader(request));
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    throw new SvcError('invalid_argument', NOT_A_MESSAGE, { cause });
  }
}

/**
 * A method with one answer: `handle` resolves with the serialised message or throws the error of the status. What it
 * sets in `trailers` goes with the answer.
 */
export const unary =
  (
    parts: { readonly logger: GrpcLogger },
    handle: (call: UnaryCall, trailers: Metadata) => Promise<Uint8Array>,
  ): UnaryInBytes =>
  (call, answer) => {
    const trailers = new Metadata();
    handle(call, trailers).then(
      (message) => answer(null, Buffer.from(message.buffer, message.byteOffset, message.byteLength), trailers),
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
export const unserved = (parts: GrpcParts, message: Decodable<unknown>): UnaryInBytes =>
  unary(parts, async (call) => {
    decoded(message, call.request);
    throw new SvcError('unimplemented', `${call.getPath().slice(1)} is specified but not served by this version`);
  });
