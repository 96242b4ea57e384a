/** What one client may cost the node over HTTP. Every number is a setting. */
export interface RestLimits {
  /** Largest request body (design K7). */
  readonly bodyBytes: number;
  /** Largest body of a webhook (decided.md "Stimuli"). */
  readonly webhookBytes: number;
  /** Deepest nesting of a JSON body. */
  readonly jsonDepth: number;
  /** Longest part of a path. */
  readonly pathPartLength: number;
  /** All headers of one request together. */
  readonly headerBytes: number;
  /** Open connections; further ones are closed at once. */
  readonly connections: number;
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
  webhookBytes: 1024 * 1024,
  jsonDepth: 100,
  pathPartLength: 256,
  headerBytes: 16 * 1024,
  connections: 20_000,
  streams: 10_000,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 72_000,
  closeGraceMs: 10_000,
  heartbeatMs: 15_000,
  drainTimeoutMs: 30_000,
  reconnectMs: 2_000,
};
