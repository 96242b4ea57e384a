import { type ErrorCode, type ErrorDetail, SvcError } from '../../runtime/errors.ts';
import { ToolFailure } from '../tool.ts';

/** Most details in the text of a failure. */
const TOLD_DETAILS = 20;

/** Codes after which trying again is no use. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'quota_exceeded',
  'limit_reached',
  'cortex_not_configured',
  'unimplemented',
]);

/**
 * What an area refused, as the tool's own failure: its code is that of the error table, its text tells the details. What
 * may succeed when it is tried again, what was cancelled and what is our bug stays what it is: the effect knows what to do.
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

/** Of a change that the spec answers with `false` and an error: the text, or it is thrown on. */
export function refusalOf(thrown: unknown): string {
  if (thrown instanceof SvcError && thrown.row.kind === 'terminal') return thrown.message;
  throw thrown;
}

function withDetails(message: string, details: readonly ErrorDetail[] | undefined): string {
  if (details === undefined || details.length === 0) return message;
  const told = details
    .slice(0, TOLD_DETAILS)
    .map(detailText)
    .filter((text) => !message.includes(text));
  const more = details.length > TOLD_DETAILS ? [`and ${details.length - TOLD_DETAILS} more`] : [];
  return [message, ...told, ...more].join('\n');
}

function detailText({ path, line, message }: ErrorDetail): string {
  const at = line === undefined ? '' : ` (line ${line})`;
  return path === undefined || path === '' ? `${message}${at}` : `${path}: ${message}${at}`;
}
