import type { ConnectionLimits } from '../connection-gate.ts';

/** Limits for one gRPC client. Every number is a setting. */
export interface GrpcLimits extends ConnectionLimits {
  /** Largest request, bytes: 16 MiB of payload (K7) and its envelope. */
  readonly messageBytes: number;
  /** Largest request of a method that needs no caller, bytes. */
  readonly strangerBytes: number;
  /** Largest SEAL envelope of a caller without a bearer token, bytes. */
  readonly sealBytes: number;
  /** Longest time for a whole request to arrive, ms; in a stream of requests, for each one. */
  readonly requestTimeoutMs: number;
  /** Most simultaneous calls of one connection to methods that need no caller. */
  readonly strangerCalls: number;
  /** Most simultaneous calls to these methods of all connections; an address has a share of them, as of connections. */
  readonly strangerCallsInAll: number;
  /** Most open health watches, of all clients and of one connection. */
  readonly healthWatches: number;
  readonly healthWatchesPerConnection: number;
  /** Largest metadata of one call, bytes in total. */
  readonly metadataBytes: number;
  /** Most simultaneous calls of one connection before its first admitted call. */
  readonly firstCalls: number;
  /** Most simultaneous calls of one connection after it. */
  readonly callsPerConnection: number;
  /** Most open event streams of all clients; further ones are answered UNAVAILABLE. */
  readonly streams: number;
  /** Longest `context_json`, bytes. */
  readonly contextBytes: number;
  /** Deepest nesting of `context_json`. */
  readonly contextDepth: number;
  /** Most bytes that wait for one client that reads slowly; one more event is always accepted. */
  readonly unreadBytes: number;
  /** Longest time that a stream's client may leave sent data unread, ms. */
  readonly drainTimeoutMs: number;
  /** Time between two checks of the key or token that opened a stream, ms. */
  readonly recheckMs: number;
  /** Idle time after which a connection is pinged, ms; it is closed when the answer does not come in time. */
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** Shortest time between two updates of a health watcher, ms. */
  readonly healthPollMs: number;
  /** How long running calls may continue when the server closes, ms; then their connections are cut. */
  readonly closeGraceMs: number;
}

export const GRPC_LIMITS: GrpcLimits = {
  connections: 10_000,
  descriptorShare: 0.1,
  messageBytes: 16 * 1024 * 1024 + 64 * 1024,
  strangerBytes: 4 * 1024,
  sealBytes: 1024 * 1024 + 64 * 1024,
  requestTimeoutMs: 60_000,
  strangerCalls: 100,
  strangerCallsInAll: 1_000,
  healthWatches: 100,
  healthWatchesPerConnection: 2,
  metadataBytes: 16 * 1024,
  firstCalls: 100,
  callsPerConnection: 1_000,
  streams: 10_000,
  contextBytes: 1024 * 1024,
  contextDepth: 100,
  unreadBytes: 256 * 1024,
  drainTimeoutMs: 300_000,
  recheckMs: 45_000,
  keepaliveMs: 60_000,
  keepaliveTimeoutMs: 20_000,
  healthPollMs: 1_000,
  closeGraceMs: 10_000,
};
