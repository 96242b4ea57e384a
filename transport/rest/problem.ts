import { ERRORS, type ErrorDetail, type SvcError } from '../../runtime/errors.ts';

/**
 * Which body an error of a route has. `coded`: `{error: CODE, message: TEXT, details?}` (decided.md). `plain`: agent and
 * execution routes answer the statuses spec 2 lists for them, 400, 404 and 500, with `{error: TEXT, details?}`, and
 * everything else `coded`.
 */
export type ProblemStyle = 'coded' | 'plain';

export const PLAIN_STATUSES: readonly number[] = [400, 404, 500];

export interface ProblemBody {
  readonly error: string;
  readonly message?: string;
  readonly details?: readonly ErrorDetail[];
  readonly reason?: string;
}

/** Texts a route is specified to answer with, whatever the part behind it said. */
export interface ProblemTexts {
  readonly notFound?: string;
  readonly bug?: string;
}

/** What a client may read of an error: never the message of a bug, whose texts nobody checked for secrets. */
function publicText(error: SvcError, texts: ProblemTexts): string {
  if (error.code === 'not_found') return texts.notFound ?? error.message;
  if (error.row.kind !== 'bug') return error.message;
  return texts.bug ?? ERRORS[error.code].message;
}

export function problemBody(error: SvcError, style: ProblemStyle, texts: ProblemTexts = {}): ProblemBody {
  const text = publicText(error, texts);
  const details = error.details === undefined || error.row.kind === 'bug' ? {} : { details: error.details };
  if (style === 'plain' && PLAIN_STATUSES.includes(error.row.http)) return { error: text, ...details };
  return {
    error: error.code,
    message: text,
    ...(error.reason === undefined ? {} : { reason: error.reason }),
    ...details,
  };
}

/** Whole seconds for `Retry-After`, for errors that may pass. */
export function retryAfterSeconds(error: SvcError): number | undefined {
  if (error.row.http !== 429 && error.row.http !== 503) return undefined;
  return Math.max(1, Math.ceil((error.retryAfterMs ?? 1_000) / 1_000));
}
