import type { FastifyRequest } from 'fastify';
import {
  readShellRequest,
  retrySecs,
  SHELL_ANSWER,
  SHELL_REQUEST,
  shellProblem,
} from '../../effects/agents/bootstrap/api.ts';
import { isErrorCode } from '../../runtime/errors.ts';
import type { RestApp } from '../rest/parts.ts';

/** Answers go out as a shell reads them when that is asked for, or when the request was written by one. */
export function wantsShell(request: FastifyRequest): boolean {
  const { accept = '*/*' } = request.headers;
  if (accept.includes(SHELL_ANSWER)) return true;
  return !accept.includes('application/json') && (request.headers['content-type'] ?? '').startsWith(SHELL_REQUEST);
}

/** Takes requests in the shell's form, and gives errors in it to those who cannot read JSON. */
export function speakShell(app: RestApp): void {
  app.addContentTypeParser(SHELL_REQUEST, { parseAs: 'buffer' }, async (_request: FastifyRequest, body: Buffer) =>
    readShellRequest(body),
  );
  app.addHook('onSend', async (request, reply, payload) => {
    if (reply.statusCode < 400 || typeof payload !== 'string' || !wantsShell(request)) return payload;
    const { error, message } = problemOf(payload);
    reply.type(SHELL_ANSWER);
    const afterMs = Number(reply.getHeader('retry-after') ?? 1) * 1_000;
    return shellProblem({ error, message, retry_secs: isErrorCode(error) ? retrySecs(error, afterMs) : 0 });
  });
}

/** What the one error handler of all routes wrote. */
function problemOf(payload: string): { readonly error: string; readonly message: string } {
  const body: unknown = JSON.parse(payload);
  const has = typeof body === 'object' && body !== null && 'error' in body && 'message' in body;
  return has ? { error: String(body.error), message: String(body.message) } : { error: 'internal', message: payload };
}
