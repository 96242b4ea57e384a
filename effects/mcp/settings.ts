import type { z } from 'zod';
import type { McpServers } from '../../manifests/node/tools.ts';

/** One entry of `spec.mcp_servers[]`, as it was checked. */
export type McpServerSettings = z.output<typeof McpServers>[number];

/** Structured log lines; a pino logger is one. */
export interface McpLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
