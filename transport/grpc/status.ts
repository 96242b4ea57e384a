import { Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { ERRORS, type SvcError } from '../../runtime/errors.ts';
import { statusDetails } from './status-details.ts';

/** Trailers of every error. */
export const ERROR_CODE_KEY = 'svc-error-code';
/** The precise reason, where many share a code. */
const ERROR_REASON_KEY = 'svc-error-reason';
const STATUS_DETAILS_KEY = 'grpc-status-details-bin';

const MAX_TEXT_CHARS = 1_024;
const MAX_REASON_CHARS = 100;

/**
 * What a client sees of an error: status and text of the one table (design L5), its code and precise
 * reason as the trailers `svc-error-code` and `svc-error-reason`, field problems as google.rpc details. Of a bug only the trace id, whose log line says more.
 */
export function statusOf(error: SvcError, trace: string): StatusObject {
  const code = status[error.row.grpc];
  const text =
    error.row.kind === 'bug' ? `${ERRORS[error.code].message} Trace ${trace}.` : clipped(error.message, MAX_TEXT_CHARS);
  const metadata = new Metadata();
  metadata.set(ERROR_CODE_KEY, error.code);
  if (error.reason !== undefined) metadata.set(ERROR_REASON_KEY, clipped(error.reason, MAX_REASON_CHARS));
  const details = statusDetails(code, text, error);
  if (details !== null) metadata.set(STATUS_DETAILS_KEY, Buffer.from(details));
  return { code, details: text, metadata };
}

/** Cut to a length, and free of half characters, which no header can hold. */
function clipped(text: string, maxChars: number): string {
  return (text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text).toWellFormed();
}
