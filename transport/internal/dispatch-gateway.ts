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
import { refuseEncoded } from '../rest/signed-body.ts';
import type { InternalServerParts } from './parts.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The execution whose bootstrap calls. */
    gatewayCaller: GatewayCaller | null;
  }
}

const config = { access: 'public' } as const;

const schema = { body: GatewayRequest };

/**
 * POST /v1/dispatch-gateway (H9): answers when the loop has a final answer or needs a command run, which may take
 * minutes. A client that disconnects ends only its wait; the same request sent again gets the same answer. Every error
 * is `{error: CODE, message}`, including the 502, 503 and 429 of models and providers.
 */
export function addDispatchGateway(app: RestApp, parts: InternalServerParts, waits: OpenStreams): void {
  addShellFormat(app);
  app.decorateRequest('gatewayCaller', null);
  // Runs before the body is read: a caller without a token cannot make the node hold a payload.
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

/** The execution whose bootstrap calls, from its capability token (S5). */
export interface GatewayCaller {
  readonly tenant: string;
  readonly executionId: string;
}

/** Verifies a capability token. Throws `unauthenticated` for a missing or invalid token, `unavailable`. */
export async function gatewayCaller(tokens: ExecutionTokens, token: string | undefined): Promise<GatewayCaller> {
  if (token === undefined) throw new SvcError('unauthenticated', "The execution's capability token is needed.");
  const { tenant, executionId } = await tokens.verify(token);
  return { tenant, executionId: executionId.toLowerCase() };
}

/** Whether to answer in the shell form: the client accepts it, or its request was in that form. */
function wantsShell(request: FastifyRequest): boolean {
  const { accept = '*/*' } = request.headers;
  if (accept.includes(SHELL_ANSWER)) return true;
  return !accept.includes('application/json') && (request.headers['content-type'] ?? '').startsWith(SHELL_REQUEST);
}

/** Accepts requests in the shell form and answers them in that form, including errors. */
function addShellFormat(app: RestApp): void {
  app.addContentTypeParser(SHELL_REQUEST, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    refuseEncoded(request);
    return readShellRequest(body);
  });
  app.addHook('onSend', async (request, reply, payload) => {
    if (reply.statusCode < 400 || typeof payload !== 'string' || !wantsShell(request)) return payload;
    const { error, message } = problemOf(payload);
    reply.type(SHELL_ANSWER);
    const afterMs = Number(reply.getHeader('retry-after') ?? 1) * 1_000;
    return shellProblem({ error, message, retry_secs: isErrorCode(error) ? retrySecs(error, afterMs) : 0 });
  });
}

/** Parses the body that the error handler of all routes wrote. */
function problemOf(payload: string): { readonly error: string; readonly message: string } {
  const body: unknown = JSON.parse(payload);
  const has = typeof body === 'object' && body !== null && 'error' in body && 'message' in body;
  return has ? { error: String(body.error), message: String(body.message) } : { error: 'internal', message: payload };
}

const WITH_TOKEN = /^\/x\/([^/?#]*)(\/.*)?$/s;

/** Tokens by request. The token is removed from the URL before anything can show or log it. */
const tokens = new WeakMap<IncomingMessage, string>();

/** Turns `/x/TOKEN/v1/…` into `/v1/…` and remembers the token (S5). */
export function withoutToken(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const match = WITH_TOKEN.exec(url);
  if (match === null) return url;
  tokens.set(request, match[1] ?? '');
  const rest = match[2] ?? '/';
  // Fastify keeps the original URL; replace it too.
  Object.assign(request, { originalUrl: rest });
  return rest;
}

/** The token of the URL, else of `Authorization: Bearer`. Throws `unauthenticated` when both are there and differ. */
export function tokenOf(request: IncomingMessage): string | undefined {
  const inPath = tokens.get(request);
  const inHeader = bearerToken(request.headers.authorization);
  if (inPath === undefined) return inHeader;
  if (inHeader !== undefined && inHeader !== inPath)
    throw new SvcError('unauthenticated', 'The request carries two different tokens. Send one.');
  return inPath;
}
