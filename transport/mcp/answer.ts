import { ERRORS, SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { Caller } from '../caller-tools/call.ts';
import { callerGrant } from '../caller-tools/grant.ts';
import { callTool } from './call-tool.ts';
import { listedTools } from './list-tools.ts';
import type { McpParts } from './parts.ts';
import { INTERNAL_ERROR, RpcError } from './rpc-error.ts';
import { loadSdk } from './sdk.ts';

export interface McpCall {
  readonly headers: Headers;
  /** The parsed body: one JSON-RPC message. */
  readonly message: Json;
  readonly caller: Caller;
  /** Of the product. */
  readonly version: string;
  /** What went wrong and is ours: the client is told no details. */
  readonly onBug: (error: unknown) => void;
}

/** Answers one message by an SDK server of its own: nothing is kept for the next one. */
export async function answerMcp(
  parts: McpParts,
  { headers, message, caller, version, onBug }: McpCall,
): Promise<Response> {
  const sdk = await loadSdk();
  const { jsonSchemaValidator } = sdk;
  const server = new sdk.Server({ name: 'svc', version }, { capabilities: { tools: {} }, jsonSchemaValidator });
  const transport = new sdk.Transport({ enableJsonResponse: true });
  server.setRequestHandler(sdk.ListToolsRequestSchema, () =>
    told(onBug, async () => ({ tools: listedTools(await callerGrant(parts, caller.identity)) })),
  );
  server.setRequestHandler(sdk.CallToolRequestSchema, ({ params }, { requestId }) =>
    told(onBug, () => callTool(sdk, parts, caller, { params, id: requestId })),
  );
  await server.connect(transport);
  try {
    const request = new Request('http://localhost/mcp', { method: 'POST', headers });
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

/** Errors of handlers as JSON-RPC ones; texts of bugs stay here. */
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
