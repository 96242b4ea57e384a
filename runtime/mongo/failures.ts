import { MongoError, MongoNetworkError, MongoServerError, MongoSystemError } from 'mongodb';
import { SvcError } from '../errors.ts';

const DUPLICATE_KEY = 11_000;
const AUTHENTICATION_FAILED = 18;
/** Not primary, shutting down, stepped down, out of time, write concern not reached: another moment may do. */
const PASSING_CODES = new Set([6, 7, 50, 64, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436]);

/** True when a write was refused because its id or a unique tuple exists. */
export function isDuplicate(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  // FerretDB 1 answers 11000 to inserts, but an internal error with SQLite's text to an update.
  return error.code === DUPLICATE_KEY || error.message.includes('UNIQUE constraint failed');
}

/** What a failure of the driver is to everybody else: `unavailable` when trying again may help. */
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
    // What ends a bulk write on its way, such as a broken connection, comes wrapped.
    const wrapped: unknown = error.errorResponse;
    if (wrapped instanceof MongoError) return isPassing(wrapped);
    if (isSocketError(wrapped)) return true;
    return (
      (typeof error.code === 'number' && PASSING_CODES.has(error.code)) || error.hasErrorLabel('RetryableWriteError')
    );
  }
  // Closed, not connected, waited too long for a connection: all are the driver's own errors about its state.
  return /Closed|NotConnected|Expired|WaitQueue|PoolCleared|Interrupted/.test(error.constructor.name);
}

/** A write on a socket that just ended leaves the driver as Node's own error (EPIPE, ECONNRESET). */
function isSocketError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(E[A-Z]+|ERR_S(OCKET|TREAM)_\w+)$/.test(String(error.code));
}

export const notAnswered = (cause: unknown): SvcError =>
  new SvcError('unavailable', 'the document store did not answer', { store: 'documents', cause });

export const notOpen = (): SvcError =>
  new SvcError('unavailable', 'the document store is not open', { store: 'documents' });
