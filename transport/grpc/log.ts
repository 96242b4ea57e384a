import type { SvcError } from '../../runtime/errors.ts';
import type { GrpcLogger } from './parts.ts';

/**
 * Logs a call that ended in an error: this node's errors at a high level, the caller's at a low one. Never logs
 * metadata or messages.
 */
export function logRefusal(
  logger: GrpcLogger,
  error: SvcError,
  at: { readonly path: string; readonly trace: string },
): void {
  const line = { code: error.code, method: at.path, trace: at.trace };
  if (error.row.kind === 'bug') logger.error({ ...line, err: error.cause ?? error }, 'call failed');
  // An overloaded node logs its refusals once, not for each call.
  else if (error.row.http >= 500 && error.code !== 'overloaded')
    logger.warn({ ...line, reason: error.message }, 'call not served');
  else logger.debug({ ...line, reason: error.message }, 'call refused');
}
