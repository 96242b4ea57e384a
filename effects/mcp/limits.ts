import type { z } from 'zod';
import type { McpServers } from '../../manifests/node/tools.ts';

const KiB = 1_024;

const MiB = 1_024 * KiB;

/** Bounds for a server that misbehaves. Tests use smaller ones. */
export interface McpLimits {
  /** Size of one message of a server; a larger one ends the connection or the process. */
  readonly messageBytes: number;
  /** Messages of a server in each window of `messagesEveryMs`. */
  readonly messages: number;
  readonly messagesEveryMs: number;
  /** Bytes buffered for a server that does not read. */
  readonly unreadBytes: number;
  readonly tools: number;
  readonly toolPages: number;
  readonly schemaBytes: number;
  readonly schemaDepth: number;
  readonly descriptionChars: number;
  /** Concurrent calls of one server. */
  readonly calls: number;
  /** From the launch to the answer to `initialize`; a package runner may download first. */
  readonly startMs: number;
  /** How long a list of tools waits for starting servers. */
  readonly firstToolsMs: number;
  /** Minimum time between two reads of a list that keeps changing. */
  readonly refreshMs: number;
  /** Delay before the first restart; doubled for each further one, with jitter. */
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
  /** Uptime after which the backoff starts again with the first delay. */
  readonly steadyMs: number;
  /** Time between closing its input, TERM and KILL. */
  readonly stopGraceMs: number;
  /** Logged lines of its standard error per second. */
  readonly logLines: number;
  readonly logLineChars: number;
}

export const MCP_LIMITS: McpLimits = {
  messageBytes: 4 * MiB,
  messages: 20_000,
  messagesEveryMs: 10_000,
  unreadBytes: 32 * MiB,
  tools: 500,
  toolPages: 50,
  schemaBytes: 64 * KiB,
  schemaDepth: 32,
  descriptionChars: 4_096,
  calls: 256,
  startMs: 30_000,
  firstToolsMs: 10_000,
  refreshMs: 250,
  backoffMs: 500,
  longestBackoffMs: 60_000,
  steadyMs: 60_000,
  stopGraceMs: 2_000,
  logLines: 50,
  logLineChars: 2_000,
};

/** One validated entry of `spec.mcp_servers[]`. */
export type McpServerSettings = z.output<typeof McpServers>[number];

/** The part of a pino logger that is used here. */
export interface McpLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
