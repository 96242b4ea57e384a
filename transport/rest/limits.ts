import type { ConnectionLimits } from '../connection-gate.ts';

/** Limits for one HTTP client. Every number is a setting. */
export interface RestLimits extends ConnectionLimits {
  /** Largest body of a route that carries a payload, bytes (K7). */
  readonly bodyBytes: number;
  /** Largest body of a route that carries a text, bytes. */
  readonly textBytes: number;
  /** Largest body of every other route, bytes. */
  readonly controlBytes: number;
  /** Largest body of a route that needs no caller, bytes, unless the route itself checks its sender. */
  readonly strangerBytes: number;
  /** Largest body of a webhook, bytes (H25). */
  readonly webhookBytes: number;
  /** Most webhooks over 4 KiB that are read at once; further ones are refused. */
  readonly webhooksAtOnce: number;
  /** Longest time for a webhook's body to arrive, ms. */
  readonly webhookTimeoutMs: number;
  /** Largest SEAL envelope of a caller without a bearer token, bytes. */
  readonly sealBytes: number;
  /** Deepest nesting of a JSON body. */
  readonly jsonDepth: number;
  /** Longest part of a path, in characters. */
  readonly pathPartLength: number;
  /** Largest headers of one request, bytes in total. */
  readonly headerBytes: number;
  /** Most open event streams; further ones get 503. */
  readonly streams: number;
  /** Longest time for a request's headers to arrive, ms; `requestTimeoutMs` limits the whole request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long an idle connection is kept for the next request, ms. */
  readonly keepAliveTimeoutMs: number;
  /** Most requests of one connection that wait for their answers; a client that sends more is cut off. */
  readonly pipelinedRequests: number;
  /** Most files of the page at /docs that are sent at once; further ones are refused. */
  readonly docsAtOnce: number;
  /** Longest time without a byte read of an answer that waits to be read, ms. */
  readonly unreadTimeoutMs: number;
  /** How long running calls may continue when the server closes, ms; then their connections are cut. */
  readonly closeGraceMs: number;
  /** Silence on an event stream before a comment is sent, ms. */
  readonly heartbeatMs: number;
  /** Longest time that a stream's client may leave sent data unread, ms. */
  readonly drainTimeoutMs: number;
  /** How long an event stream tells its client to wait before it reconnects, ms. */
  readonly reconnectMs: number;
  /** Time between two checks of the key or token that opened a stream, ms. */
  readonly recheckMs: number;
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
  pipelinedRequests: 50,
  docsAtOnce: 100,
  unreadTimeoutMs: 60_000,
  closeGraceMs: 10_000,
  heartbeatMs: 15_000,
  drainTimeoutMs: 30_000,
  reconnectMs: 2_000,
  recheckMs: 45_000,
};
