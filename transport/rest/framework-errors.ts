import type { FastifyError } from 'fastify';
import { type ErrorCode, type ErrorDetail, SvcError } from '../../runtime/errors.ts';
import { REST_LIMITS } from './limits.ts';

/** Errors Fastify makes before a handler runs, in our terms. */
const CODES: Readonly<Record<string, [ErrorCode, string?]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_argument', 'Content-Length does not fit the body'],
  FST_ERR_BAD_URL: ['invalid_argument', 'the path holds a percent-encoding that is not valid UTF-8'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid_argument', 'a part of the path is too long'],
};

const isFastifyError = (error: unknown): error is FastifyError =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_');

/** Of a client that closed the connection in the middle of its body: nobody reads the answer. */
const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNRESET' && error.message === 'aborted';

/** Any thrown value as an SvcError, keeping what Fastify knew about it. `bodyBytes`: what the route takes at most. */
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

/** A schema that names its own text (spec 2: `invalid agent id`) answers with that text alone. */
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
