import type { JsonObject } from '../../runtime/json.ts';

/** A tool of an MCP server as it says now. Named `SERVER.TOOL` for agents. */
export interface McpTool {
  readonly server: string;
  /** Its own name, without the server's. */
  readonly tool: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Operator's word in `spec.mcp_servers[].capabilities`. */
  readonly skipJudge: boolean;
  /** From its annotations `readOnlyHint`, `idempotentHint`. */
  readonly reads: boolean;
  readonly repeatable: boolean;
}

/** MCP servers of the node configuration: started, watched and restarted here. */
export interface McpServers {
  /** Of all servers that are up, filtered by their `capabilities`. A server that is down offers nothing. */
  tools(): Promise<readonly McpTool[]>;
  /** An MCP tool result. Throws `not_found` (no such server or tool), `unavailable`, `deadline_exceeded`, the signal's reason. */
  call(
    request: {
      readonly server: string;
      readonly tool: string;
      readonly arguments: JsonObject;
      readonly timeoutMs: number;
    },
    options: { readonly signal: AbortSignal; readonly onProgress?: (text: string) => void },
  ): Promise<{ readonly content: readonly JsonObject[]; readonly structured?: JsonObject; readonly isError: boolean }>;
  /** How each server is, for operators: `starting`, `ready`, `unhealthy`, `restarting`, `disabled`, with the last error. */
  status(): readonly {
    readonly name: string;
    readonly status: string;
    readonly restarts: number;
    readonly error: string | null;
  }[];
  close(): Promise<void>;
}
