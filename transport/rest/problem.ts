import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ERRORS, type ErrorCode, type ErrorDetail, SvcError } from '../../runtime/errors.ts';
import { auditDenial } from './audit.ts';
import { REST_LIMITS } from './limits.ts';

/**
 * The form of a route's error bodies. `coded`: `{error: CODE, message: TEXT, details?}` (H1). `plain`: agent and
 * execution routes answer 400, 404 and 500 with `{error: TEXT, details?}`, and all other errors as `coded`.
 */
export type ProblemStyle = 'coded' | 'plain';

export const PLAIN_STATUSES: readonly number[] = [400, 404, 500];

interface ProblemBody {
  readonly error: string;
  /** Code of a start that failed, whose `error` is a text. */
  readonly code?: string;
  readonly message?: string;
  readonly details?: readonly ErrorDetail[];
  readonly reason?: string;
}

/** Texts that the specification fixes for a route, whatever the error says. */
export interface ProblemTexts {
  readonly notFound?: string;
  readonly bug?: string;
}

/** Statuses of errors that mean that a start failed: the agent, its manifest or this node must change (H12). */
const FAILED_START: readonly number[] = [422, 500, 501, 502];

/** The status that the specification fixes for a start that failed. */
const FAILED_START_STATUS = 500;

const isFailedStart = (error: SvcError, { starts }: { readonly starts?: boolean }): boolean =>
  starts === true && FAILED_START.includes(error.row.http);

/** The text of an error for clients. Never the message of a bug, which may contain secrets. */
function publicText(error: SvcError, texts: ProblemTexts): string {
  if (error.code === 'not_found') {
    // A field of the manifest names another resource than the route, such as a volume.
    const isOfManifest = error.field?.startsWith('spec.') === true;
    return isOfManifest ? error.message : (texts.notFound ?? error.message);
  }
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

/** Seconds for `Retry-After`, for retryable errors; undefined for all others. */
export function retryAfterSeconds(error: SvcError): number | undefined {
  if (error.row.http !== 429 && error.row.http !== 503) return undefined;
  return Math.max(1, Math.ceil((error.retryAfterMs ?? 1_000) / 1_000));
}

/** Codes of the errors that Fastify throws before a handler runs. */
const CODES: Readonly<Record<string, [ErrorCode, string?]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'content-type: expected one that the API description lists for this route, such as application/json',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_argument', 'Content-Length does not fit the body'],
  FST_ERR_BAD_URL: ['invalid_argument', 'the path holds a percent-encoding that is not valid UTF-8'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid_argument', 'a part of the path is too long'],
};

const isFastifyError = (error: unknown): error is FastifyError =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');

/** Whether the client closed the connection while it sent its body, so that no one reads the answer. */
const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNRESET' && error.message === 'aborted';

/** Turns any thrown value into an SvcError and keeps what Fastify reported. `bodyBytes`: largest body of the route. */
export function fromFramework(thrown: unknown, bodyBytes: number = REST_LIMITS.bodyBytes): SvcError {
  if (thrown instanceof SvcError) return thrown;
  if (isGone(thrown)) return new SvcError('cancelled', 'the client ended the request before all of it had come');
  if (!isFastifyError(thrown)) return new SvcError('internal', undefined, { cause: thrown });
  if (thrown.validation !== undefined) return fromValidation(thrown);
  const isLarge = thrown.code === 'FST_ERR_CTP_BODY_TOO_LARGE';
  if (isLarge && bodyBytes !== REST_LIMITS.bodyBytes)
    return new SvcError('payload_too_large', `the body is larger than ${bodyBytes} bytes`, { cause: thrown });
  const known = CODES[thrown.code];
  if (known !== undefined) return new SvcError(known[0], known[1], { cause: thrown });
  const ours = thrown.statusCode === undefined || thrown.statusCode >= 500;
  return new SvcError(ours ? 'internal' : 'invalid_argument', undefined, { cause: thrown });
}

/** A schema with one of these texts (`invalid agent id`, H10) answers with only that text. */
const EXACT = /^invalid (?:agent|execution|request) id$/;

const MAX_DETAILS = 20;

function fromValidation(error: FastifyError): SvcError {
  const issues = error.validation ?? [];
  const exact = issues.find((issue) => EXACT.test(issue.message ?? ''));
  if (exact?.message !== undefined) return new SvcError('invalid_argument', exact.message, { cause: error });
  const place = error.validationContext ?? 'request';
  const details = issues.slice(0, MAX_DETAILS).map((issue): ErrorDetail => {
    const path = `${place}${issue.instancePath === '/' ? '' : issue.instancePath.replaceAll('/', '.')}`;
    return { path, message: issue.message ?? 'is not as expected' };
  });
  const text = details.map((detail) => `${detail.path}: ${detail.message}`).join('; ');
  return new SvcError('invalid_argument', text, { details, cause: error });
}

/** Answers a thrown value with status and body of the error table, in the style of the route (H1). */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = fromFramework(thrown, request.routeOptions.bodyLimit);
  log(error, request);
  auditDenial(error, request);
  const retryAfter = retryAfterSeconds(error);
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  if (error.code === 'unauthenticated') reply.header('www-authenticate', challenge(request));
  // Closes the connection, since the rest of a refused body is not read.
  if (error.code === 'payload_too_large' || error.code === 'request_timed_out') reply.header('connection', 'close');
  const { problems = 'coded', texts, starts } = request.routeOptions.config;
  const failed = isFailedStart(error, { starts });
  const body = problemBody(error, problems, texts);
  return reply
    .code(failed ? FAILED_START_STATUS : error.row.http)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(failed ? { ...body, error: publicText(error, texts ?? {}), message: undefined, code: error.code } : body);
}

const challenge = (request: FastifyRequest): string =>
  request.headers.authorization === undefined ? 'Bearer realm="svc"' : 'Bearer realm="svc", error="invalid_token"';

function log(error: SvcError, request: FastifyRequest): void {
  const line = { code: error.code, method: request.method, route: request.routeOptions.url, trace: request.trace };
  if (error.row.kind === 'bug') request.log.error({ ...line, err: error.cause ?? error }, 'request failed');
  // An overloaded node logs its refusals once, not for each call.
  else if (error.row.http >= 500 && error.code !== 'overloaded')
    request.log.warn({ ...line, reason: error.message }, 'request not served');
  else request.log.debug({ ...line, reason: error.message }, 'request refused');
}
