import type { ConnectionLimits } from '../connection-gate.ts';

/** What one client may cost the node over HTTP. Every number is a setting. */
export interface RestLimits extends ConnectionLimits {
  /** Largest body of a route that carries a payload (K7). */
  readonly bodyBytes: number;
  /** Largest body of a route that carries a text. */
  readonly textBytes: number;
  /** Largest body of every other route. */
  readonly controlBytes: number;
  /** Largest body of a route that asks for no caller, unless it checks who sends it. */
  readonly strangerBytes: number;
  /** Largest body of a webhook (H25). */
  readonly webhookBytes: number;
  /** Webhooks of more than 4 KiB that are read at once; further ones are refused. */
  readonly webhooksAtOnce: number;
  /** Time a webhook's body has to come in. */
  readonly webhookTimeoutMs: number;
  /** Largest envelope of SEAL from who brings no bearer. */
  readonly sealBytes: number;
  /** Deepest nesting of a JSON body. */
  readonly jsonDepth: number;
  /** Longest part of a path. */
  readonly pathPartLength: number;
  /** All headers of one request together. */
  readonly headerBytes: number;
  /** Open event streams; further ones get 503. */
  readonly streams: number;
  /** Time a client has to send its headers, and its whole request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long an idle connection is kept for the next request. */
  readonly keepAliveTimeoutMs: number;
  /** How long calls may still run when the server closes; then their connections are cut. */
  readonly closeGraceMs: number;
  /** Silence on an event stream before a comment is sent. */
  readonly heartbeatMs: number;
  /** How long a stream's client may leave what was sent unread. */
  readonly drainTimeoutMs: number;
  /** What an event stream tells its client to wait before it comes back. */
  readonly reconnectMs: number;
}

export const REST_LIMITS: RestLimits = {
  bodyBytes: 16 * 1024 * 1024,
  textBytes: 1024 * 1024,
  controlBytes: 64 * 1024,
  strangerBytes: 4 * 1024,
  webhookBytes: 1024 * 1024,
  webhooksAtOnce: 32,
  webhookTimeoutMs: 10_000,
  sealBytes: 1024 * 1024,
  jsonDepth: 100,
  pathPartLength: 256,
  headerBytes: 16 * 1024,
  connections: 20_000,
  descriptorShare: 0.6,
  streams: 10_000,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 72_000,
  closeGraceMs: 10_000,
  heartbeatMs: 15_000,
  drainTimeoutMs: 30_000,
  reconnectMs: 2_000,
};
