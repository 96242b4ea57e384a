import { SvcError } from '../errors.ts';

/** Errors of the server after which the same call may succeed later; nothing or all of it was written. */
const PASSING =
  /^(OOM|READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|MISCONF|NOREPLICAS|UNKILLABLE|MOVED|ASK|CROSSSLOT)\b/;
const DENIED = /^(NOAUTH|WRONGPASS|NOPERM)\b/;

export const isFunctionMissing = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('Function not found');

/**
 * A failed call as an SvcError: `unavailable` for whatever a repeat may cure (the call may have happened), `internal`
 * for the rest. The server's text stays in `cause`: it can hold keys.
 */
export function redisFailure(error: unknown): SvcError {
  if (error instanceof SvcError) return error;
  if (!(error instanceof Error)) return new SvcError('internal', undefined, { cause: error });
  if (DENIED.test(error.message)) {
    const text = 'Redis refuses the credentials or permissions of this node.';
    return new SvcError('unavailable', text, { store: 'actors', cause: error });
  }
  if (error.name === 'ReplyError' && !PASSING.test(error.message)) {
    return new SvcError('internal', undefined, { cause: error });
  }
  const word = PASSING.exec(error.message)?.[1];
  const message = word === undefined ? 'Redis cannot be reached.' : `Redis cannot do this now (${word}).`;
  return new SvcError('unavailable', message, { store: 'actors', cause: error });
}
