import type { ConnectionLimits } from '../connection-gate.ts';

/** What one client may cost the node over gRPC. Every number is a setting. */
export interface GrpcLimits extends ConnectionLimits {
  /** Largest request: 16 MiB of payload (K7) and what surrounds it. */
  readonly messageBytes: number;
  /** Largest request of a method that asks for no caller. */
  readonly strangerBytes: number;
  /** Largest envelope of SEAL from who brings no bearer. */
  readonly sealBytes: number;
  /** Time all of a request has to come in; of a stream of requests, each next one. */
  readonly requestTimeoutMs: number;
  /** Simultaneous calls of one connection to methods that ask for no caller. */
  readonly strangerCalls: number;
  /** Open health watches of all clients, and of one connection. */
  readonly healthWatches: number;
  readonly healthWatchesPerConnection: number;
  /** All metadata of one call together. */
  readonly metadataBytes: number;
  /** Simultaneous calls of one connection. */
  readonly callsPerConnection: number;
  /** Open event streams of all clients; further ones are answered UNAVAILABLE. */
  readonly streams: number;
  /** Longest `context_json`, bytes. */
  readonly contextBytes: number;
  /** Deepest nesting of `context_json`. */
  readonly contextDepth: number;
  /** What may wait for one client that does not read on, bytes; one event more is always taken. */
  readonly unreadBytes: number;
  /** How long a stream's client may leave what was sent unread. */
  readonly drainTimeoutMs: number;
  /** A connection without traffic is asked whether it lives, and ended when it does not answer in time. */
  readonly keepaliveMs: number;
  readonly keepaliveTimeoutMs: number;
  /** How often health watchers are told of a change, at most. */
  readonly healthPollMs: number;
  /** How long calls may still run when the server closes; then their connections are cut. */
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
  healthWatches: 100,
  healthWatchesPerConnection: 2,
  metadataBytes: 16 * 1024,
  callsPerConnection: 1_000,
  streams: 10_000,
  contextBytes: 1024 * 1024,
  contextDepth: 100,
  unreadBytes: 256 * 1024,
  drainTimeoutMs: 300_000,
  keepaliveMs: 60_000,
  keepaliveTimeoutMs: 20_000,
  healthPollMs: 1_000,
  closeGraceMs: 10_000,
};
