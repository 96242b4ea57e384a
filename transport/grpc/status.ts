import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { ERRORS, type ErrorDetail, type SvcError } from '../../runtime/errors.ts';

/** Trailer with the error code, on every error. */
export const ERROR_CODE_KEY = 'svc-error-code';

/** Trailer with the precise reason, for codes that have several. */
const ERROR_REASON_KEY = 'svc-error-reason';

const STATUS_DETAILS_KEY = 'grpc-status-details-bin';

const MAX_TEXT_CHARS = 1_024;

const MAX_REASON_CHARS = 100;

/**
 * Turns an error into a gRPC status: status and text from the error table (L5), code and precise reason as the trailers
 * `svc-error-code` and `svc-error-reason`, field problems as google.rpc details. Of a bug the client gets only the
 * trace id, with which an operator finds the log line.
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

/** Shortens a text to a length without splitting a surrogate pair, which no header can carry. */
function clipped(text: string, maxChars: number): string {
  return (text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text).toWellFormed();
}

/** Most field problems in the details: trailers share one header block, which clients limit to some 8 KiB. */
const MAX_VIOLATIONS = 10;

const MAX_FIELD_CHARS = 100;

const MAX_DESCRIPTION_CHARS = 200;

/**
 * Encodes the `google.rpc.Status` of the trailer `grpc-status-details-bin`: BadRequest for field problems, RetryInfo
 * for retryable errors, ErrorInfo for a precise reason. Null when the status has no details. Field numbers:
 * google/rpc/status.proto and error_details.proto.
 */
function statusDetails(code: number, message: string, error: SvcError): Uint8Array | null {
  if (error.row.kind === 'bug') return null;
  const details: Uint8Array[] = [];
  const violations = violationsOf(error);
  if (violations.length > 0) details.push(any('google.rpc.BadRequest', badRequest(violations)));
  if (error.retryAfterMs !== undefined) details.push(any('google.rpc.RetryInfo', retryInfo(error.retryAfterMs)));
  if (error.reason !== undefined) details.push(any('google.rpc.ErrorInfo', errorInfo(error.reason)));
  if (details.length === 0) return null;
  const writer = new BinaryWriter().uint32(field(1, 0)).int32(code).uint32(field(2, 2)).string(message);
  for (const detail of details) writer.uint32(field(3, 2)).bytes(detail);
  return writer.finish();
}

function violationsOf({ details, field: named, message }: SvcError): readonly ErrorDetail[] {
  if (details !== undefined && details.length > 0) return details.slice(0, MAX_VIOLATIONS);
  return named === undefined ? [] : [{ path: named, message }];
}

/** Tag of a field: its number and wire type. */
const field = (number: number, wireType: 0 | 2): number => (number << 3) | wireType;

const any = (type: string, value: Uint8Array): Uint8Array =>
  new BinaryWriter()
    .uint32(field(1, 2))
    .string(`type.googleapis.com/${type}`)
    .uint32(field(2, 2))
    .bytes(value)
    .finish();

function badRequest(violations: readonly ErrorDetail[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const { path, line, message } of violations) {
    const text = line === undefined ? message : `line ${line}: ${message}`;
    const violation = new BinaryWriter()
      .uint32(field(1, 2))
      .string((path ?? '').slice(0, MAX_FIELD_CHARS))
      .uint32(field(2, 2))
      .string(text.slice(0, MAX_DESCRIPTION_CHARS))
      .finish();
    writer.uint32(field(1, 2)).bytes(violation);
  }
  return writer.finish();
}

const errorInfo = (reason: string): Uint8Array =>
  new BinaryWriter()
    .uint32(field(1, 2))
    .string(reason.slice(0, MAX_FIELD_CHARS))
    .uint32(field(2, 2))
    .string('svc.dev')
    .finish();

function retryInfo(afterMs: number): Uint8Array {
  const duration = new BinaryWriter()
    .uint32(field(1, 0))
    .int64(Math.floor(afterMs / 1_000))
    .uint32(field(2, 0))
    .int32(Math.floor(afterMs % 1_000) * 1_000_000)
    .finish();
  return new BinaryWriter().uint32(field(1, 2)).bytes(duration).finish();
}
