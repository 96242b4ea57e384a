import { Lazy } from '../../runtime/kit/lazy.ts';

/** The official SDK, loaded with the first request: a node nobody asks over MCP does not pay for it. */
export const loadSdk = (): Promise<McpSdk> => sdk.get();

const sdk = new Lazy(load);

async function load() {
  const [server, http, types, validation] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
    import('@modelcontextprotocol/sdk/validation/ajv'),
  ]);
  return {
    Server: server.Server,
    /** Shared: an SDK server would make its own, which costs more than the rest of a request. */
    jsonSchemaValidator: new validation.AjvJsonSchemaValidator(),
    Transport: http.WebStandardStreamableHTTPServerTransport,
    ListToolsRequestSchema: types.ListToolsRequestSchema,
    CallToolRequestSchema: types.CallToolRequestSchema,
    ContentBlockSchema: types.ContentBlockSchema,
  };
}

export type McpSdk = Awaited<ReturnType<typeof load>>;
