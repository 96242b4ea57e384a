import type { ServerUnaryCall } from '@grpc/grpc-js';
import { toSvcError } from '../../runtime/errors.ts';
import { traceOfCall } from './call-context.ts';
import { logRefusal } from './log.ts';
import type { GrpcLogger } from './parts.ts';
import type { UnaryInBytes } from './service.ts';
import { statusOf } from './status.ts';

export type UnaryCall = ServerUnaryCall<Buffer, Buffer>;

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
