import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isErrorCode, SvcError } from '../../runtime/errors.ts';
import { bearerToken, type ExecutionTokens } from '../../security/api.ts';
import { answerGateway, GatewayRequest, retrySecs } from '../../usecases/gateway.ts';
import {
  readShellRequest,
  SHELL_ANSWER,
  SHELL_REQUEST,
  shellAnswer,
  shellProblem,
} from '../../usecases/gateway-shell.ts';
import type { OpenStream, OpenStreams } from '../open-streams.ts';
import type { RestApp } from '../rest/parts.ts';
import type { InternalServerParts } from './parts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose bootstrap calls. */
    gatewayCaller: GatewayCaller | null;
  }
}

const config = { access: 'public' } as const;

const schema = { body: GatewayRequest };

/**
 * POST /v1/dispatch-gateway (H9): answers when the loop has a final answer or needs a command run, after minutes if it
 * must. A client that goes away ends the wait alone; the same request again gets the same answer. Every error is
 * `{error: CODE, message}`: those of the table, a model's and its providers' 502, 503 and 429 among them.
 */
export function addDispatchGateway(app: RestApp, parts: InternalServerParts, waits: OpenStreams): void {
  speakShell(app);
  app.decorateRequest('gatewayCaller', null);
  // Before the body is read: nobody without a token makes the node hold a payload.
  app.addHook('onRequest', async (request) => {
    request.gatewayCaller = await gatewayCaller(parts.tokens, tokenOf(request.raw));
  });
  app.post('/v1/dispatch-gateway', { config, schema }, async (request, reply) => {
    if (request.gatewayCaller === null) throw new SvcError('unauthenticated');
    using wait = waits.open();
    endWithClient(reply, wait);
    const options = { trace: request.trace, signal: wait.signal };
    const answer = await answerGateway(parts.dispatch, request.gatewayCaller, request.body, options).catch(
      (thrown: unknown) => {
        if (wait.signal.reason === 'server_closing') throw new SvcError('unavailable', 'The server is closing.');
        throw thrown;
      },
    );
    if (wantsShell(request)) return reply.type(SHELL_ANSWER).send(shellAnswer(answer));
    return answer;
  });
}

function endWithClient(reply: FastifyReply, wait: OpenStream): void {
  reply.raw.once('close', () => wait.stop('client_gone'));
}

/** Whose bootstrap calls: what its capability token says (S5). */
export interface GatewayCaller {
  readonly tenant: string;
  readonly executionId: string;
}

/** The caller of a token. Throws `unauthenticated` without one or for one that does not hold, `unavailable`. */
export async function gatewayCaller(tokens: ExecutionTokens, token: string | undefined): Promise<GatewayCaller> {
  if (token === undefined) throw new SvcError('unauthenticated', "The execution's capability token is needed.");
  const { tenant, executionId } = await tokens.verify(token);
  return { tenant, executionId: executionId.toLowerCase() };
}

/** Answers go out as a shell reads them when that is asked for, or when the request was written by one. */
function wantsShell(request: FastifyRequest): boolean {
  const { accept = '*/*' } = request.headers;
  if (accept.includes(SHELL_ANSWER)) return true;
  return !accept.includes('application/json') && (request.headers['content-type'] ?? '').startsWith(SHELL_REQUEST);
}

/** Takes requests in the shell's form, and gives errors in it to those who cannot read JSON. */
function speakShell(app: RestApp): void {
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

const WITH_TOKEN = /^\/x\/([^/?#]*)(\/.*)?$/s;

/** By request: the address holds the token, so it leaves the address before anything can show or log it. */
const tokens = new WeakMap<IncomingMessage, string>();

/** `/x/TOKEN/v1/…` as `/v1/…` (S5). */
export function withoutToken(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const match = WITH_TOKEN.exec(url);
  if (match === null) return url;
  tokens.set(request, match[1] ?? '');
  const rest = match[2] ?? '/';
  // Fastify remembers the address as it came.
  Object.assign(request, { originalUrl: rest });
  return rest;
}

/** The token of the address, else of `Authorization: Bearer`. Throws `unauthenticated` when both name different ones. */
export function tokenOf(request: IncomingMessage): string | undefined {
  const inPath = tokens.get(request);
  const inHeader = bearerToken(request.headers.authorization);
  if (inPath === undefined) return inHeader;
  if (inHeader !== undefined && inHeader !== inPath) throw new SvcError('unauthenticated', 'Two different tokens.');
  return inPath;
}
