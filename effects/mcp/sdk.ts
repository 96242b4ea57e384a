import { requirePackages } from '../../runtime/kit/optional-packages.ts';

/** Loads the official SDK with the first server, so that a node without servers does not hold it in memory. */
export async function loadSdk() {
  requirePackages('mcp', 'spec.mcp_servers');
  const [client, http, stdio, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    import('@modelcontextprotocol/sdk/shared/stdio.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  return {
    Client: client.Client,
    StreamableHTTPClientTransport: http.StreamableHTTPClientTransport,
    StreamableHTTPError: http.StreamableHTTPError,
    ReadBuffer: stdio.ReadBuffer,
    serializeMessage: stdio.serializeMessage,
    McpError: types.McpError,
    EmptyResultSchema: types.EmptyResultSchema,
    ToolListChangedNotificationSchema: types.ToolListChangedNotificationSchema,
  };
}

export type McpSdk = Awaited<ReturnType<typeof loadSdk>>;
