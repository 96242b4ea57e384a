import type { z } from 'zod';
import type { McpServers } from '../../manifests/node/tools.ts';

/** What a server is given in secret, looked up at each start, so that a restart takes a renewed one. */
export interface ServerCredentials {
  /** Of a program. */
  readonly environment: Readonly<Record<string, string>>;
  /** Of each request over HTTP. */
  readonly headers: Readonly<Record<string, string>>;
  /** Takes every value that was looked up out of a text. */
  clean(text: string): string;
}

const KiB = 1_024;

const MiB = 1_024 * KiB;

/** What a server may cost the node, whatever it does. Tests make them smaller. */
export interface McpLimits {
  /** One message of a server; more ends the connection, or the process. */
  readonly messageBytes: number;
  /** Messages of a server in each window of `messagesEveryMs`; more is a flood. */
  readonly messages: number;
  readonly messagesEveryMs: number;
  /** Waiting to be read by a server. */
  readonly unreadBytes: number;
  readonly tools: number;
  readonly toolPages: number;
  readonly schemaBytes: number;
  readonly schemaDepth: number;
  readonly descriptionChars: number;
  /** Calls of one server at once. */
  readonly calls: number;
  /** From the launch to the answer to `initialize`; a package runner may download first. */
  readonly startMs: number;
  /** How long a list of tools waits for servers that are just starting. */
  readonly firstToolsMs: number;
  /** Least time between two readings of a list that goes on changing. */
  readonly refreshMs: number;
  /** Before the first restart; doubled for each that follows, with jitter. */
  readonly backoffMs: number;
  readonly longestBackoffMs: number;
  /** A server that was up for so long begins with the first backoff again. */
  readonly steadyMs: number;
  /** Between the end of its input, TERM and KILL. */
  readonly stopGraceMs: number;
  /** Of its standard error, in each second. */
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

/** One entry of `spec.mcp_servers[]`, as it was checked. */
export type McpServerSettings = z.output<typeof McpServers>[number];

/** Structured log lines; a pino logger is one. */
export interface McpLog {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
