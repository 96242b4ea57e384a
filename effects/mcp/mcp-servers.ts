import { SvcError } from '../../runtime/errors.ts';
import type { McpServers } from '../../usecases/ports/mcp-servers.ts';
import { GroupWatch } from '../programs/group-watch.ts';
import { MCP_LIMITS, type McpLimits, type McpServerSettings } from './limits.ts';
import { McpServer, type McpServerParts } from './mcp-server.ts';

export interface McpServersOptions extends Omit<McpServerParts, 'settings' | 'watch' | 'limits'> {
  /** `spec.mcp_servers`. */
  readonly settings: readonly McpServerSettings[];
  readonly limits?: Partial<McpLimits>;
}

/**
 * MCP servers of the node configuration. They start in the background at once, after leftovers of an earlier life of the
 * node were ended (`endLeftovers` on the same `workspaces`). Without servers nothing is loaded.
 */
export function createMcpServers({ settings, limits, ...parts }: McpServersOptions): McpServers {
  const watch = new GroupWatch();
  const all = { ...MCP_LIMITS, ...limits };
  const servers = new Map(
    settings
      .filter(({ enabled }) => enabled)
      .map((one) => [one.name, new McpServer({ ...parts, settings: one, watch, limits: all })]),
  );
  return {
    async tools() {
      return (await Promise.all([...servers.values()].map((server) => server.tools()))).flat();
    },
    async call(request, options) {
      options.signal.throwIfAborted();
      const server = servers.get(request.server);
      if (server === undefined) throw new SvcError('not_found', `no MCP server ${request.server} is configured here`);
      return await server.call(request, options);
    },
    status: () =>
      settings.map(({ name }) => servers.get(name)?.status ?? { name, status: 'disabled', restarts: 0, error: null }),
    async close() {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}
