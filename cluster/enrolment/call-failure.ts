import { type ServiceError, status } from '@grpc/grpc-js';
import { ERRORS, type ErrorCode, isErrorCode, SvcError } from '../../runtime/errors.ts';

/** Trailer in which our servers name the row of the error table. */
const ERROR_CODE_KEY = 'svc-error-code';
/** The precise reason, where many share a code. */
const ERROR_REASON_KEY = 'svc-error-reason';
const MAX_DETAIL_CHARS = 300;

/** What a status means when the other side names no row of its own. */
const CODES: Readonly<Partial<Record<number, ErrorCode>>> = {
  [status.CANCELLED]: 'cancelled',
  [status.INVALID_ARGUMENT]: 'invalid_argument',
  [status.OUT_OF_RANGE]: 'invalid_argument',
  [status.DEADLINE_EXCEEDED]: 'deadline_exceeded',
  [status.NOT_FOUND]: 'not_found',
  [status.ALREADY_EXISTS]: 'conflict',
  [status.PERMISSION_DENIED]: 'forbidden',
  [status.RESOURCE_EXHAUSTED]: 'rate_limited',
  [status.FAILED_PRECONDITION]: 'failed_precondition',
  [status.ABORTED]: 'lease_lost',
  [status.UNIMPLEMENTED]: 'unimplemented',
  [status.UNAVAILABLE]: 'unavailable',
  [status.UNAUTHENTICATED]: 'unauthenticated',
};

/**
 * A failed call as an error of ours, naming the method and who was asked. The library's error is not kept as the cause:
 * it carries metadata of the call, which holds tokens.
 */
export function callFailure(error: ServiceError, method: string, address: string): SvcError {
  const named = error.metadata?.get(ERROR_CODE_KEY)[0];
  const details = error.details.slice(0, MAX_DETAIL_CHARS).toWellFormed();
  const message = `${method} at ${address}: ${status[error.code] ?? error.code}${details === '' ? '' : `, ${details}`}`;
  if (typeof named === 'string' && isErrorCode(named) && status[ERRORS[named].grpc] === error.code) {
    const reason = error.metadata?.get(ERROR_REASON_KEY)[0];
    return new SvcError(named, message, typeof reason === 'string' ? { reason } : {});
  }
  return new SvcError(CODES[error.code] ?? 'internal', message);
}

const ELSEWHERE = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL', 'ABORTED', 'CANCELLED', 'UNIMPLEMENTED']);

/** Whether another controller may do better: this one is gone, slow or broken, which is no answer to the question. */
export const isWorthAskingElsewhere = (error: SvcError): boolean => ELSEWHERE.has(error.row.grpc);
