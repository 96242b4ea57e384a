import type { Capability, ManifestTool, ToolOffer, ToolScope } from '../../manifests/tool/scope.ts';

/** As far as listing and matching need to know a tool. */
export type NamedTool = Pick<ToolOffer, 'name' | 'source' | 'server'>;

/** `fs.read`, `fs.*` or `*`; a prefix ends at a dot, so `fs.*` never matches `fsx.read`. */
function matchesTool(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  return pattern.endsWith('.*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Built-in tools that a server of this name stands for, where none of that name is configured. */
const STANDS_FOR: Readonly<Record<string, readonly string[]>> = {
  filesystem: ['fs.*'],
  'web-search': ['web.search', 'web.fetch'],
};

export const CMD_RUN = 'cmd.run';

/** Names of the MCP servers that are configured: `mcp:filesystem` means that server then, not fs.*. */
export type HasServer = (name: string) => boolean;

/** Whether an entry of `spec.tools` grants a tool, its configuration aside. */
export function grants(entry: ManifestTool, tool: NamedTool, hasServer: HasServer): boolean {
  if (entry.executor === 'builtin:cmd') return tool.name === CMD_RUN;
  if (entry.server === undefined) return matchesTool(entry.name, tool.name);
  const server = entry.server.slice('mcp:'.length);
  if (tool.source === 'mcp') return tool.server === server && narrowsTo(entry.name, server, tool.name);
  const isMeant = (pattern: string): boolean =>
    matchesTool(pattern, tool.name) && (!isToolName(entry.name) || matchesTool(entry.name, tool.name));
  return (STANDS_FOR[server] ?? []).some(isMeant) && !hasServer(server);
}

/** The entry's name is that of the server, then all its tools; else one tool or a pattern, with or without the server. */
function narrowsTo(name: string, server: string, tool: string): boolean {
  return name === server || matchesTool(name, tool) || matchesTool(`${server}.${name}`, tool);
}

const isToolName = (name: string): boolean => name.includes('.') || name === '*';

export const denied = ({ deny_list }: ToolScope, names: readonly string[]): boolean =>
  deny_list.some((pattern) => names.some((name) => matchesTool(pattern, name)));

export const capabilitiesFor = ({ capabilities }: ToolScope, name: string): readonly Capability[] =>
  capabilities.filter(({ tool_pattern }) => matchesTool(tool_pattern, name));

/** Entries that grant the tool; null where no manifest narrows it. */
export const entriesFor = ({ manifest }: ToolScope, tool: NamedTool, hasServer: HasServer) =>
  manifest === null ? null : manifest.filter((entry) => grants(entry, tool, hasServer));

/** Whether a tool is offered under a scope: not on the deny list, in the context and in the manifest. */
export function isListed(scope: ToolScope, tool: NamedTool, hasServer: HasServer = () => false): boolean {
  if (denied(scope, [tool.name]) || capabilitiesFor(scope, tool.name).length === 0) return false;
  return entriesFor(scope, tool, hasServer)?.length !== 0;
}
