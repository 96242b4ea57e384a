import { type ErrorCode, type ErrorDetail, SvcError } from '../../runtime/errors.ts';
import { ToolFailure } from '../tool.ts';

/** Most details in the text of a failure. */
const LISTED_DETAILS = 20;

/** Codes for which a retry is useless. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'quota_exceeded',
  'limit_reached',
  'cortex_not_configured',
  'unimplemented',
]);

/**
 * Turns an area's refusal into a failure of the tool, with the code of the error table and the details in its text.
 * Leaves retryable errors, cancellations and bugs unchanged: the effect handles those.
 */
export function failureOf(thrown: unknown): unknown {
  if (!(thrown instanceof SvcError)) return thrown;
  const { code, message, row, details, retryAfterMs } = thrown;
  if (code === 'rate_limited') {
    const failure = new ToolFailure('RateLimitExceeded', message, 'policy', thrown);
    failure.retryAfterMs = retryAfterMs;
    return failure;
  }
  if (row.kind !== 'terminal') return thrown;
  return new ToolFailure(code, withDetails(message, details), FINAL.has(code) ? 'policy' : 'recoverable', thrown);
}

/**
 * The error text for a change that the specification answers with `false` and an error. Rethrows every error that is
 * not a refusal.
 */
export function refusalOf(thrown: unknown): string {
  if (thrown instanceof SvcError && thrown.row.kind === 'terminal') return thrown.message;
  throw thrown;
}

function withDetails(message: string, details: readonly ErrorDetail[] | undefined): string {
  if (details === undefined || details.length === 0) return message;
  const listed = details
    .slice(0, LISTED_DETAILS)
    .map(detailText)
    .filter((text) => !message.includes(text));
  const more = details.length > LISTED_DETAILS ? [`and ${details.length - LISTED_DETAILS} more`] : [];
  return [message, ...listed, ...more].join('\n');
}

function detailText({ path, line, message }: ErrorDetail): string {
  const at = line === undefined ? '' : ` (line ${line})`;
  return path === undefined || path === '' ? `${message}${at}` : `${path}: ${message}${at}`;
}
