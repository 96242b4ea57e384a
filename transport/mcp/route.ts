import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { parseJsonBytes } from '../json-thread.ts';
import type { RestApp, RestParts } from '../rest/parts.ts';
import { callerOf } from '../rest/request-context.ts';
import { metadataChallenge } from '../rest/routes/protected-resource.ts';
import { answerMcp } from './answer.ts';
import { INVALID_REQUEST, PARSE_ERROR } from './rpc-error.ts';

/** Arguments of one call, and all around them. */
const BODY_BYTES = 4 * 1024 * 1024;
const TEXT_PROBLEMS: readonly ErrorCode[] = ['invalid_argument', 'payload_too_large'];
/** What the SDK's server looks at. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version'];

/** POST /mcp, on nodes that have the part for it. Not in the API description: its messages are those of MCP. */
export function mcpRoute(app: RestApp, parts: RestParts): void {
  const { mcp, version, limits } = parts;
  if (mcp === undefined) return;
  app.register((scope: RestApp, _options, done) => {
    // JSON-RPC has its own answer to text that is no JSON, so it is parsed by the handler.
    scope.removeAllContentTypeParsers();
    scope.addHook('onSend', async (request, reply, payload) => {
      const more = reply.statusCode === 401 ? metadataChallenge(request, parts) : null;
      if (more !== null) reply.header('www-authenticate', `${String(reply.getHeader('www-authenticate'))}, ${more}`);
      return payload;
    });
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (_request: FastifyRequest, body: Buffer) => body,
    );
    const route = {
      config: { access: 'run' as const },
      bodyLimit: Math.min(BODY_BYTES, limits.bodyBytes),
      schema: { hide: true },
    };
    scope.post('/mcp', route, async (request, reply) => {
      const read = await messageOf(request.body, limits.jsonDepth);
      if ('error' in read) return answerRpcError(reply, read.code, read.error);
      const gone = new AbortController();
      const onClose = (): void => {
        if (!reply.raw.writableFinished) gone.abort(new SvcError('cancelled', 'the client is gone'));
      };
      reply.raw.once('close', onClose);
      const response = await answerMcp(mcp, {
        headers: headersOf(request),
        message: read.message,
        caller: { identity: callerOf(request), trace: request.trace, signal: gone.signal },
        version,
        onBug: (error) => request.log.error({ err: error, trace: request.trace }, 'MCP request failed'),
      });
      reply.raw.removeListener('close', onClose);
      return send(reply, response);
    });
    done();
  });
}

type Read = { readonly message: Json } | { readonly error: string; readonly code: number };

async function messageOf(body: unknown, maxDepth: number): Promise<Read> {
  if (!Buffer.isBuffer(body)) return { error: 'Parse error: the body is empty', code: PARSE_ERROR };
  try {
    const message = await parseJsonBytes(body, { field: 'body', what: 'the body', maxDepth });
    // MCP gave batches up again; one message is one request, with its own limits.
    if (Array.isArray(message)) return { error: 'Invalid Request: batches are not served', code: INVALID_REQUEST };
    return { message };
  } catch (error) {
    const isTheirs = error instanceof SvcError && TEXT_PROBLEMS.includes(error.code);
    if (!isTheirs) throw error;
    return { error: `Parse error: ${error.message}`, code: PARSE_ERROR };
  }
}

const answerRpcError = (reply: FastifyReply, code: number, message: string): FastifyReply =>
  reply
    .code(400)
    .type('application/json')
    .send(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));

async function send(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const text = await response.text();
  const type = response.headers.get('content-type');
  reply.code(response.status);
  return text === '' || type === null ? reply.send() : reply.type(type).send(text);
}

function headersOf({ headers }: FastifyRequest): Headers {
  const kept = new Headers();
  for (const name of HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') kept.set(name, value);
  }
  return kept;
}
