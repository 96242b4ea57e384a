import { Lazy } from '../../runtime/kit/lazy.ts';
import { requirePackages } from '../../runtime/kit/optional-packages.ts';

/** Loads the official SDK at the first request, so that a node without MCP clients does not hold it. */
export const loadSdk = (): Promise<McpSdk> => sdk.get();

const sdk = new Lazy(load);

async function load() {
  requirePackages('mcp', '/mcp');
  const [server, http, types, validation] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
    import('@modelcontextprotocol/sdk/validation/ajv'),
  ]);
  return {
    Server: server.Server,
    /** Shared: each SDK server would create its own validator, which costs more than the rest of a request. */
    jsonSchemaValidator: new validation.AjvJsonSchemaValidator(),
    Transport: http.WebStandardStreamableHTTPServerTransport,
    protocolVersions: types.SUPPORTED_PROTOCOL_VERSIONS,
    JSONRPCRequestSchema: types.JSONRPCRequestSchema,
    ListToolsRequestSchema: types.ListToolsRequestSchema,
    CallToolRequestSchema: types.CallToolRequestSchema,
    ListResourcesRequestSchema: types.ListResourcesRequestSchema,
    ListResourceTemplatesRequestSchema: types.ListResourceTemplatesRequestSchema,
    ReadResourceRequestSchema: types.ReadResourceRequestSchema,
    ListPromptsRequestSchema: types.ListPromptsRequestSchema,
    GetPromptRequestSchema: types.GetPromptRequestSchema,
    ContentBlockSchema: types.ContentBlockSchema,
    /** Schemas of all requests with parameters that the server handles. */
    requests: [
      types.ListToolsRequestSchema,
      types.CallToolRequestSchema,
      types.ListResourcesRequestSchema,
      types.ListResourceTemplatesRequestSchema,
      types.ReadResourceRequestSchema,
      types.ListPromptsRequestSchema,
      types.GetPromptRequestSchema,
      types.InitializeRequestSchema,
    ],
  };
}

export type McpSdk = Awaited<ReturnType<typeof load>>;
