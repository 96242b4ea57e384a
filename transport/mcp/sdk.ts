/** The official SDK, loaded with the first request: a node nobody asks over MCP does not pay for it. */
export async function loadSdk() {
  const [server, http, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  return {
    Server: server.Server,
    Transport: http.WebStandardStreamableHTTPServerTransport,
    ListToolsRequestSchema: types.ListToolsRequestSchema,
    CallToolRequestSchema: types.CallToolRequestSchema,
    ContentBlockSchema: types.ContentBlockSchema,
  };
}

export type McpSdk = Awaited<ReturnType<typeof loadSdk>>;
