import type { SvcError } from '../../runtime/errors.ts';
import type { GrpcLogger } from './parts.ts';

/** One line for a call that ended in an error: loud for ours, quiet for the caller's. Never metadata or messages. */
export function logRefusal(
  logger: GrpcLogger,
  error: SvcError,
  at: { readonly path: string; readonly trace: string },
): void {
  const line = { code: error.code, method: at.path, trace: at.trace };
  if (error.row.kind === 'bug') logger.error({ ...line, err: error.cause ?? error }, 'call failed');
  // The node says once that it refuses.
  else if (error.row.http >= 500 && error.code !== 'overloaded')
    logger.warn({ ...line, reason: error.message }, 'call not served');
  else logger.debug({ ...line, reason: error.message }, 'call refused');
}
