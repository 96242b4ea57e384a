import type { JsonObject } from '../../runtime/json.ts';

/** A tool that an MCP server currently lists. Its name for agents is `SERVER.TOOL`. */
export interface McpTool {
  readonly server: string;
  /** Name without the server's name. */
  readonly tool: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Set by the operator in `spec.mcp_servers[].capabilities`. */
  readonly skipJudge: boolean;
  /** From its annotations `readOnlyHint`, `idempotentHint`. */
  readonly reads: boolean;
  readonly repeatable: boolean;
}

/** The MCP servers of the node configuration. Implemented by mcp-servers.ts, which starts, watches and restarts them. */
export interface McpServers {
  /** The tools of all ready servers, filtered by their `capabilities`. */
  tools(): Promise<readonly McpTool[]>;
  /** Calls a tool. Throws `not_found` (no such server or tool), `unavailable`, `deadline_exceeded`, the signal's reason. */
  call(
    request: {
      readonly server: string;
      readonly tool: string;
      readonly arguments: JsonObject;
      readonly timeoutMs: number;
    },
    options: { readonly signal: AbortSignal; readonly onProgress?: (text: string) => void },
  ): Promise<{ readonly content: readonly JsonObject[]; readonly structured?: JsonObject; readonly isError: boolean }>;
  /** Status of each server for operators: `starting`, `ready`, `unhealthy`, `restarting`, `disabled`, with the last error. */
  status(): readonly {
    readonly name: string;
    readonly status: string;
    readonly restarts: number;
    readonly error: string | null;
  }[];
  close(): Promise<void>;
}
