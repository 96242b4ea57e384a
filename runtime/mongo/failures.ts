import { MongoError, MongoNetworkError, MongoServerError, MongoSystemError } from 'mongodb';
import { SvcError } from '../errors.ts';

const DUPLICATE_KEY = 11_000;
const AUTHENTICATION_FAILED = 18;
/**
 * Server errors after which a repeat may succeed: not primary, shutting down, stepped down, out of time, write concern
 * not reached.
 */
const PASSING_CODES = new Set([6, 7, 50, 64, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

/** Whether a write was refused because its id or a unique tuple exists. */
export function isDuplicate(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  // FerretDB 1 returns 11000 for inserts, but an internal error with SQLite's text for updates.
  return error.code === DUPLICATE_KEY || error.message.includes('UNIQUE constraint failed');
}

/** Converts a failure of the driver to the error for callers: `unavailable` when a repeat may succeed. */
export function publicError(cause: unknown): unknown {
  if (!(cause instanceof MongoError)) return isSocketError(cause) ? notAnswered(cause) : cause;
  if (cause.code === AUTHENTICATION_FAILED) {
    return new SvcError('invalid_config', 'MongoDB refused the credentials', { field: 'uri' });
  }
  if (isPassing(cause)) return notAnswered(cause);
  return new SvcError('internal', undefined, { cause });
}

function isPassing(error: MongoError): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoSystemError) return true;
  if (error instanceof MongoServerError) {
    // The cause of an aborted bulk write, such as a broken connection, is wrapped.
    const wrapped: unknown = error.errorResponse;
    if (wrapped instanceof MongoError) return isPassing(wrapped);
    if (isSocketError(wrapped)) return true;
    return (
      (typeof error.code === 'number' && PASSING_CODES.has(error.code)) || error.hasErrorLabel('RetryableWriteError')
    );
  }
  // Closed, not connected, waited too long for a connection: these are the driver's own errors about its state.
  return /Closed|NotConnected|Expired|WaitQueue|PoolCleared|Interrupted/.test(error.constructor.name);
}

/** A write on a socket that just ended fails with Node's own error (EPIPE, ECONNRESET). */
function isSocketError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(E[A-Z]+|ERR_S(OCKET|TREAM)_\w+)$/.test(String(error.code));
}

export const notAnswered = (cause: unknown): SvcError =>
  new SvcError('unavailable', 'the document store did not answer', { store: 'documents', cause });

export const notOpen = (): SvcError =>
  new SvcError('unavailable', 'the document store is not open', { store: 'documents' });
