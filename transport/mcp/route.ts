import { hash } from 'node:crypto';
import type {
  CallToolRequest,
  CallToolResult,
  GetPromptResult,
  RequestId,
  Tool,
} from '@modelcontextprotocol/sdk/types.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ToolOutcome } from '../../manifests/tool/call.ts';
import type { ToolGrant } from '../../manifests/tool/scope.ts';
import { asCallOf } from '../../runtime/calls/calls-of-effect.ts';
import { ERRORS, type ErrorCode, SvcError, toSvcError } from '../../runtime/errors.ts';
import { type Json, jsonField } from '../../runtime/json.ts';
import { callingSpan } from '../../runtime/tracing/trace-context.ts';
import {
  type Caller,
  callerGrant,
  callTool as callOf,
  resultOf,
  TOOL_NAME_CHARS,
} from '../../usecases/caller-tools.ts';
import type { InvokeAnswer } from '../../usecases/tool-sessions.ts';
import { parseJsonBytes } from '../json-thread.ts';
import type { McpParts, RestApp, RestParts } from '../rest/parts.ts';
import { callerOf } from '../rest/request-context.ts';
import { metadataChallenge } from '../rest/routes/jwks.ts';
import { CALL_ACCESS } from '../rest/routes/tools.ts';
import { INSTRUCTIONS, listedPrompts, promptText } from './prompts.ts';
import { listedResources, listedTemplates, resourceRead } from './resources.ts';
import { loadSdk, type McpSdk } from './sdk.ts';
import { aliasesOf, toolNamed } from './tool-aliases.ts';

/** Largest body, bytes: the arguments of one call and their envelope. */
const BODY_BYTES = 4 * 1024 * 1024;

const TEXT_PROBLEMS: readonly ErrorCode[] = ['invalid_argument', 'payload_too_large'];

/** The headers that the SDK's server reads. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version'];

/** POST /mcp, on nodes that have `parts.mcp`. It is not in the API description, since its messages are those of MCP. */
export function mcpRoute(app: RestApp, parts: RestParts): void {
  const { mcp, version, limits } = parts;
  if (mcp === undefined) return;
  app.register((scope: RestApp, _options, done) => {
    // The handler parses the body, since JSON-RPC has its own error for invalid JSON.
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
      config: CALL_ACCESS,
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
    // MCP has removed batches: one message is one request, with its own limits.
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

interface McpCall {
  readonly headers: Headers;
  /** The parsed body: one JSON-RPC message. */
  readonly message: Json;
  readonly caller: Caller;
  /** Version of the product. */
  readonly version: string;
  /** Called with an internal error; the client gets no details of it. */
  readonly onBug: (error: unknown) => void;
}

/** Answers one message with a new SDK server, so that no state is kept between messages. */
async function answerMcp(parts: McpParts, { headers, message, caller, version, onBug }: McpCall): Promise<Response> {
  const sdk = await loadSdk();
  const { jsonSchemaValidator } = sdk;
  const server = new sdk.Server(
    { name: 'svc', version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator },
  );
  const transport = new sdk.Transport({ enableJsonResponse: true });
  const grant = () => callerGrant(parts, caller.identity);
  server.setRequestHandler(sdk.ListToolsRequestSchema, () =>
    told(onBug, async () => ({ tools: listedTools(parts, await grant()) })),
  );
  server.setRequestHandler(sdk.CallToolRequestSchema, ({ params }, { requestId }) =>
    told(onBug, () => inItsTrace(params, caller, (of) => callTool(sdk, parts, of, { params, id: requestId }))),
  );
  server.setRequestHandler(sdk.ListResourcesRequestSchema, () =>
    told(onBug, async () => ({ resources: listedResources(namesIn(await grant())) })),
  );
  server.setRequestHandler(sdk.ListResourceTemplatesRequestSchema, () =>
    told(onBug, async () => ({ resourceTemplates: listedTemplates(namesIn(await grant())) })),
  );
  server.setRequestHandler(sdk.ReadResourceRequestSchema, ({ params }, { requestId }) =>
    told(onBug, () =>
      inItsTrace(params, caller, (of) => readResource(sdk, parts, of, { uri: params.uri, id: requestId })),
    ),
  );
  server.setRequestHandler(sdk.ListPromptsRequestSchema, () => ({ prompts: listedPrompts() }));
  server.setRequestHandler(sdk.GetPromptRequestSchema, ({ params }) => promptFor(params.name, params.arguments ?? {}));
  await server.connect(transport);
  try {
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

/** Runs a handler and turns its errors into JSON-RPC errors. The text of a bug is not sent. */
async function told<Result>(onBug: (error: unknown) => void, handle: () => Promise<Result>): Promise<Result> {
  try {
    return await handle();
  } catch (error) {
    if (error instanceof RpcError) throw error;
    if (error instanceof SvcError && error.row.kind !== 'bug') {
      throw new RpcError(INTERNAL_ERROR, error.message, { code: error.code });
    }
    onBug(error instanceof SvcError ? (error.cause ?? error) : error);
    throw new RpcError(INTERNAL_ERROR, ERRORS.internal.message, { code: 'internal' });
  }
}

/** A message may name its span in `_meta`, which is more precise than the headers of its request. */
function inItsTrace<T>(
  { _meta }: { readonly _meta?: CallToolRequest['params']['_meta'] },
  caller: Caller,
  work: (caller: Caller) => T,
): T {
  const [traceparent, tracestate] = [textOf(_meta?.traceparent), textOf(_meta?.tracestate)];
  const span = callingSpan(traceparent, tracestate);
  return span === null ? work(caller) : asCallOf(span, () => work({ ...caller, trace: span.trace }));
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const CALL_ID_CHARS = 200;

/** `tools/call`: calls a tool for a caller and answers in the form of MCP. */
async function callTool(
  sdk: McpSdk,
  parts: McpParts,
  caller: Caller,
  { params, id }: { readonly params: CallToolRequest['params']; readonly id: RequestId },
): Promise<CallToolResult> {
  const { name, arguments: given = {} } = params;
  if (name.length > TOOL_NAME_CHARS) throw new RpcError(INVALID_PARAMS, 'Unknown tool: the name is too long');
  const grant = await callerGrant(parts, caller.identity);
  const tool = toolNamed(
    name,
    grant.tools.map((one) => one.name),
  );
  try {
    const call = { source: 'mcp', tool, arguments: given, call: callId(id) } as const;
    const { answer, isOffered } = await callOf(parts, caller, call);
    return callResult(sdk, answer, isOffered, tool);
  } catch (thrown) {
    if (thrown instanceof RpcError) throw thrown;
    const error = toSvcError(thrown);
    if (error.row.kind === 'bug' || !(thrown instanceof SvcError)) throw error;
    return errorResult(error);
  }
}

const namesIn = ({ tools }: ToolGrant): ReadonlySet<string> => new Set(tools.map(({ name }) => name));

const NO_RESOURCE = -32_002;

/** `resources/read`: calls the tool that reads it. */
async function readResource(
  sdk: McpSdk,
  parts: McpParts,
  caller: Caller,
  { uri, id }: { readonly uri: string; readonly id: RequestId },
) {
  const read = resourceRead(uri);
  if (read === null) throw new RpcError(NO_RESOURCE, `Resource not found: ${uri.slice(0, 200)}`, { uri });
  const params = { name: read.tool, arguments: { ...read.arguments } };
  const { isError, content, structuredContent } = await callTool(sdk, parts, caller, { params, id });
  if (isError === true) {
    const [first] = content;
    throw new RpcError(NO_RESOURCE, first?.type === 'text' ? first.text : 'Resource not found', { uri });
  }
  const parsed = jsonField.parse(structuredContent ?? null);
  return { contents: [{ uri, mimeType: read.mimeType, text: read.contentOf(parsed) }] };
}

function promptFor(name: string, given: Readonly<Record<string, string>>): GetPromptResult {
  const found = promptText(name, given);
  if ('problem' in found) throw new RpcError(INVALID_PARAMS, found.problem);
  const { text, description } = found;
  return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
}

/** The id with its type, since 1 and "1" are different ids. */
function callId(id: RequestId): string {
  if (typeof id === 'number') return `n:${id}`;
  return `s:${id.length > CALL_ID_CHARS ? hash('sha256', id, 'hex') : id}`;
}

/**
 * Translates the answer of a session for MCP: a denial becomes a result that the model can read. Throws `RpcError` for
 * invalid arguments, and for a tool that the caller is not offered, which counts as unknown here.
 */
export function callResult(sdk: McpSdk, answer: InvokeAnswer, isOffered: boolean, tool: string): CallToolResult {
  switch (answer.kind) {
    case 'outcome':
      return outcomeResult(sdk, answer.outcome);
    case 'inactive':
      return failure('SessionInactive', answer.message);
    case 'invalid_request':
      throw new RpcError(INVALID_REQUEST, answer.message);
    case 'denied':
      if (answer.reason === 'InvalidArguments') {
        throw new RpcError(INVALID_PARAMS, answer.message, { reason: answer.reason, tool });
      }
      if (!isOffered) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${tool}`, { reason: answer.reason, tool });
      return failure(answer.reason, answer.message, answer.retryAfterMs);
  }
}

/**
 * The result of a call that could not be made, for the model to read. Tools call `rate_limited` `RateLimitExceeded`.
 */
export const errorResult = ({ code, message, retryAfterMs }: SvcError): CallToolResult =>
  failure(code === 'rate_limited' ? 'RateLimitExceeded' : code, message, retryAfterMs);

function failure(reason: string, message: string, retryAfterMs?: number): CallToolResult {
  const retry = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
  return {
    content: [{ type: 'text', text: `${reason}: ${message}` }],
    structuredContent: { error: { reason, message, ...retry } },
    isError: true,
  };
}

function outcomeResult(sdk: McpSdk, outcome: ToolOutcome): CallToolResult {
  const { content, ...rest } = resultOf(outcome);
  return {
    ...rest,
    content: content.map((block) => {
      const parsed = sdk.ContentBlockSchema.safeParse(block);
      // An MCP server behind this one may use content types that this version of MCP does not have.
      return parsed.success ? parsed.data : { type: 'text' as const, text: JSON.stringify(block) };
    }),
  };
}

/** The tools of a grant in the form of `tools/list`. */
function listedTools({ granter, toolNames = 'alias' }: McpParts, { tools }: ToolGrant): Tool[] {
  const aliases = aliasesOf(
    tools.map(({ name }) => name),
    toolNames,
  );
  return tools.flatMap(({ name, description, input_schema, reads, mode, source }) => {
    const { type, ...rest } = input_schema;
    // Clients refuse the whole list when one schema has another type.
    if (type !== 'object') return [];
    const result = source === 'builtin' ? granter.outputSchema(name) : undefined;
    return [
      {
        name: aliases.get(name) ?? name,
        description,
        inputSchema: { ...rest, type },
        ...(result === undefined ? {} : { outputSchema: { ...result, type } }),
        annotations: { readOnlyHint: reads, idempotentHint: mode === 'repeatable' },
      },
    ];
  });
}

/** JSON-RPC error codes that this server answers with. */
const PARSE_ERROR = -32_700;

const INVALID_REQUEST = -32_600;

const INVALID_PARAMS = -32_602;

const INTERNAL_ERROR = -32_603;

/** An error answer: the SDK sends `code`, `message` and `data` of a thrown error. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: Readonly<Record<string, unknown>> | undefined;

  constructor(code: number, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.data = data;
  }
}
