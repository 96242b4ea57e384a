import type { GetPromptResult, RequestId, Tool } from '@modelcontextprotocol/sdk/types.js';
import type { FastifyRequest } from 'fastify';
import type { ToolGrant } from '../../manifests/tool/scope.ts';
import { type ErrorCode, SvcError } from '../../runtime/errors.ts';
import { isJsonObject, type Json, jsonField } from '../../runtime/json.ts';
import { type Caller, callerGrant } from '../../usecases/caller-tools.ts';
import { parseJsonBytes } from '../json-thread.ts';
import type { McpParts, RestApp, RestParts } from '../rest/parts.ts';
import { callerOf } from '../rest/request-context.ts';
import { metadataChallenge } from '../rest/routes/jwks.ts';
import { CALL_ACCESS } from '../rest/routes/tools.ts';
import { refuseEncoded } from '../rest/signed-body.ts';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  notRpc,
  type OnBug,
  PARSE_ERROR,
  RpcError,
  rpcErrorOf,
} from './json-rpc.ts';
import { INSTRUCTIONS, listedPrompts, promptText } from './prompts.ts';
import { listedResources, listedTemplates, resourceRead } from './resources.ts';
import { loadSdk, type McpSdk } from './sdk.ts';
import { aliasesOf } from './tool-aliases.ts';
import { answeredCall, callTool, inItsTrace, plainCall, type ToolRequest } from './tool-call.ts';

/** Largest body, bytes: the arguments of one call and their envelope. */
const BODY_BYTES = 4 * 1024 * 1024;

/** Most characters of the text that explains why parameters are refused. */
const REFUSED_CHARS = 300;

const TEXT_PROBLEMS: readonly ErrorCode[] = ['invalid_argument', 'payload_too_large'];

/** The headers that the SDK's server reads. */
const HEADERS = ['accept', 'content-type', 'mcp-protocol-version'];

/** POST /mcp, on nodes that have `parts.mcp`. It is not in the API description, since its messages are those of MCP. */
export function mcpRoute(app: RestApp, parts: RestParts): void {
  const { mcp, limits } = parts;
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
      async (request: FastifyRequest, body: Buffer) => {
        refuseEncoded(request);
        return body;
      },
    );
    const route = {
      config: CALL_ACCESS,
      bodyLimit: Math.min(BODY_BYTES, limits.bodyBytes),
      schema: { hide: true },
    };
    // Thousands of calls wait at once: the functions on the way to the result return promises and await nothing, since a
    // function that awaits keeps all its variables.
    scope.post('/mcp', route, (request, reply) => {
      const gone = new AbortController();
      const onClose = (): void => {
        if (!reply.raw.writableFinished) gone.abort(new SvcError('cancelled', 'the client is gone'));
      };
      reply.raw.on('close', onClose);
      return answerMcp(mcp, parts, request, gone.signal).then(({ status, type, text }) => {
        reply.raw.removeListener('close', onClose);
        reply.code(status);
        return text === '' || type === null ? reply.send() : reply.type(type).send(text);
      });
    });
    done();
  });
}

async function answerMcp(
  mcp: McpParts,
  { version, limits }: RestParts,
  request: FastifyRequest,
  signal: AbortSignal,
): Promise<McpAnswer> {
  const caller = { identity: callerOf(request), trace: request.trace, signal };
  const onBug: OnBug = (error) => request.log.error({ err: error, trace: request.trace }, 'MCP request failed');
  const taken = await takenOf(mcp, request, { depth: limits.jsonDepth, caller, version, onBug });
  if ('status' in taken) return taken;
  const sdk = await loadSdk();
  return answeredCall(sdk, mcp, caller, taken, onBug).then(jsonAnswer);
}

const jsonAnswer = (text: string): McpAnswer => ({ status: 200, type: 'application/json', text });

async function takenOf(
  mcp: McpParts,
  request: FastifyRequest,
  { depth, ...call }: Omit<McpCall, 'headers' | 'message'> & { readonly depth: number },
): Promise<Taken> {
  const read = await messageOf(request.body, depth);
  // Many calls wait for minutes at once, so the bytes that a call was read from are released before the wait.
  request.body = undefined;
  request.raw.rawHeaders.length = 0;
  if (!('error' in read)) {
    const plain = plainCall(await loadSdk(), request.headers, read.message);
    return plain ?? takenBySdk(mcp, { headers: headersOf(request), message: read.message, ...call });
  }
  const text = JSON.stringify({ jsonrpc: '2.0', error: { code: read.code, message: read.error }, id: null });
  return { status: 400, type: 'application/json', text };
}

type Read = { readonly message: Json } | { readonly error: string; readonly code: number };

async function messageOf(body: unknown, maxDepth: number): Promise<Read> {
  if (!Buffer.isBuffer(body)) return { error: 'Parse error: the body is empty', code: PARSE_ERROR };
  try {
    const message = await parseJsonBytes(body, { field: 'body', what: 'the body', maxDepth });
    // MCP has removed batches: one message is one request, with its own limits.
    if (Array.isArray(message)) return { error: 'Invalid Request: batches are not served', code: INVALID_REQUEST };
    const problem = notRpc(message);
    if (problem !== null) return { error: `Parse error: no JSON-RPC message: ${problem}`, code: PARSE_ERROR };
    return { message };
  } catch (error) {
    const isTheirs = error instanceof SvcError && TEXT_PROBLEMS.includes(error.code);
    if (!isTheirs) throw error;
    return { error: `Parse error: ${error.message}`, code: PARSE_ERROR };
  }
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
  readonly onBug: OnBug;
}

/** An answer over HTTP. */
interface McpAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

/** The SDK's answer to a message, or the request itself for a tool call that the SDK accepts. */
type Taken = McpAnswer | ToolRequest;

/** Passes one message to a new SDK server, so that no state is kept between messages. */
async function takenBySdk(parts: McpParts, { headers, message, caller, version, onBug }: McpCall): Promise<Taken> {
  const sdk = await loadSdk();
  const { jsonSchemaValidator } = sdk;
  const server = new sdk.Server(
    { name: 'svc', version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator },
  );
  const transport = new sdk.Transport({ enableJsonResponse: true });
  const grant = () => callerGrant(parts, caller.identity);
  const calls: ToolRequest[] = [];
  server.setRequestHandler(sdk.ListToolsRequestSchema, () =>
    withRpcErrors(onBug, async () => ({ tools: listedTools(parts, await grant()) })),
  );
  server.setRequestHandler(sdk.CallToolRequestSchema, ({ params }, { requestId }) => {
    calls.push({ params, id: requestId });
    return { content: [] };
  });
  server.setRequestHandler(sdk.ListResourcesRequestSchema, () =>
    withRpcErrors(onBug, async () => ({ resources: listedResources(namesIn(await grant())) })),
  );
  server.setRequestHandler(sdk.ListResourceTemplatesRequestSchema, () =>
    withRpcErrors(onBug, async () => ({ resourceTemplates: listedTemplates(namesIn(await grant())) })),
  );
  server.setRequestHandler(sdk.ReadResourceRequestSchema, ({ params }, { requestId }) =>
    withRpcErrors(onBug, () =>
      inItsTrace(params, caller, (of) => readResource(sdk, parts, of, { uri: params.uri, id: requestId })),
    ),
  );
  server.setRequestHandler(sdk.ListPromptsRequestSchema, () => ({ prompts: listedPrompts() }));
  server.setRequestHandler(sdk.GetPromptRequestSchema, ({ params }) => promptFor(params.name, params.arguments ?? {}));
  await server.connect(transport);
  try {
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    const response = await transport.handleRequest(request, { parsedBody: message });
    const [call] = calls;
    if (call !== undefined) return call;
    const text = await response.text();
    const refused = text.includes(`"code":${INTERNAL_ERROR}`) ? refusedParams(sdk, message) : null;
    return { status: response.status, type: response.headers.get('content-type'), text: refused ?? text };
  } finally {
    await server.close();
  }
}

/**
 * The answer to a request whose parameters its schema refuses; null when it takes them. The SDK answers with an internal
 * error and all that its schema says.
 */
function refusedParams(sdk: McpSdk, message: Json): string | null {
  if (!isJsonObject(message)) return null;
  const { id, method } = message;
  const schema = sdk.requests.find(({ shape }) => shape.method.value === method);
  const issue = schema?.safeParse(message).error?.issues[0];
  if (issue === undefined || id === undefined) return null;
  const text = `Invalid params: ${issue.path.join('.')}: ${issue.message}`.slice(0, REFUSED_CHARS);
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: INVALID_PARAMS, message: text } });
}

async function withRpcErrors<Result>(onBug: OnBug, handle: () => Promise<Result>): Promise<Result> {
  try {
    return await handle();
  } catch (thrown) {
    throw rpcErrorOf(thrown, onBug);
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
