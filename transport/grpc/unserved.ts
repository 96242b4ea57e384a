import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { callerOf } from './call-context.ts';
import { logRefusal } from './log.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryInBytes } from './service.ts';
import { statusOf } from './status.ts';

/** A method that is specified and not served by this version: UNIMPLEMENTED for a caller and a request that are valid. */
export const unserved =
  (parts: GrpcParts, message: { decode(input: Uint8Array): unknown }): UnaryInBytes =>
  (call, answer) => {
    const path = call.getPath();
    const { trace } = callerOf(call.metadata);
    try {
      decoded(message, call.request);
      throw new SvcError('unimplemented', `${path.slice(1)} is specified but not served by this version`);
    } catch (thrown) {
      const error = toSvcError(thrown);
      logRefusal(parts.logger, error, { path, trace });
      answer(statusOf(error, trace));
    }
  };
