import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SvcError } from '../../runtime/errors.ts';
import { fromFramework } from './framework-errors.ts';
import { problemBody, retryAfterSeconds } from './problem.ts';

/** Answers a thrown value: status and body of the one table, in the style of the route (decided.md "Status codes"). */
export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = fromFramework(thrown, request.routeOptions.bodyLimit);
  log(error, request);
  const retryAfter = retryAfterSeconds(error);
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  if (error.code === 'unauthenticated') reply.header('www-authenticate', challenge(request));
  // The rest of a body we refused is not worth reading.
  if (error.code === 'payload_too_large' || error.code === 'request_timed_out') reply.header('connection', 'close');
  const { problems = 'coded', texts } = request.routeOptions.config;
  return reply
    .code(error.row.http)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(problemBody(error, problems, texts));
}

const challenge = (request: FastifyRequest): string =>
  request.headers.authorization === undefined ? 'Bearer realm="svc"' : 'Bearer realm="svc", error="invalid_token"';

function log(error: SvcError, request: FastifyRequest): void {
  const line = { code: error.code, method: request.method, route: request.routeOptions.url, trace: request.trace };
  if (error.row.kind === 'bug') request.log.error({ ...line, err: error.cause ?? error }, 'request failed');
  // The node says once that it refuses.
  else if (error.row.http >= 500 && error.code !== 'overloaded')
    request.log.warn({ ...line, reason: error.message }, 'request not served');
  else request.log.debug({ ...line, reason: error.message }, 'request refused');
}
