import { SvcError } from '../../runtime/errors.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryInBytes } from './service.ts';
import { unary } from './unary.ts';

/** A method that is specified and not served by this version: UNIMPLEMENTED for a caller and a request that are valid. */
export const unserved = (parts: GrpcParts, message: { decode(input: Uint8Array): unknown }): UnaryInBytes =>
  unary(parts, async (call) => {
    decoded(message, call.request);
    throw new SvcError('unimplemented', `${call.getPath().slice(1)} is specified but not served by this version`);
  });
