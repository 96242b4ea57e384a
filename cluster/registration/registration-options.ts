import type { ChannelCredentials } from '@grpc/grpc-js';
import type { NodeCapabilityAdvertisement } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { NodeKey } from '../../security/node-key.ts';
import type { ConfigVerdict, RegistrationLog } from './managed-config.ts';

export interface RegistrationOptions {
  readonly nodeId: string;
  /** Controllers do not register. */
  readonly role: 'WORKER' | 'HYBRID';
  /** `host:port` of the controllers, in the order in which they are called. */
  readonly controllers: readonly string[];
  /** From `clusterCredentials`. */
  readonly credentials: ChannelCredentials;
  /** The token itself, not a reference. Called for each attestation, so that the token can be replaced. */
  readonly joinToken?: (() => Promise<string | undefined>) | undefined;
  readonly key: NodeKey;
  /** `host:port` of this node's NodeClusterService for other nodes. */
  readonly grpcAddress: string;
  /** The current offer of the node, from `nodeCapabilities`; called before each heartbeat. */
  readonly capabilities: () => NodeCapabilityAdvertisement;
  readonly activeExecutions: () => number;
  /** Whether the node drains without a command of a controller. */
  readonly draining: () => boolean;
  readonly heartbeatIntervalMs: number;
  readonly tokenRefreshMarginMs: number;

  readonly onDrain: () => void | Promise<void>;
  readonly onShutdown: (reason: string) => void | Promise<void>;
  /** Throws when the text could not be stored; it is then retried. */
  readonly applyConfig: (yaml: string) => Promise<ConfigVerdict>;
  readonly log: RegistrationLog;

  readonly clock?: Clock;
  /** Time limit for the answer of one controller. Default 5 s. */
  readonly callTimeoutMs?: number;
  /** Pause after a refusal that only an operator can resolve. Default 60 s. */
  readonly refusedPauseMs?: number;
}

/** State of a node's registration, for operators. */
export interface RegistrationState {
  /** `refused`: an operator must act; `unreachable`: no controller answers, or all are unavailable. */
  readonly phase: 'joining' | 'registered' | 'refused' | 'unreachable' | 'stopped';
  readonly peerId: string | null;
  /** `host:port` of the controller that is called first. */
  readonly controller: string;
  /** Unix ms of the last answered heartbeat. */
  readonly lastHeartbeatAt: number | null;
  readonly draining: boolean;
  /** The last error; null without one. */
  readonly problem: string | null;
}

/** A node's membership in a fleet, maintained in the background. */
export interface Registration {
  state(): RegistrationState;
  /** Sends a heartbeat immediately, after a change or when a command of an operator is waiting. */
  heartbeatNow(): void;
  /** Deregisters and closes the connections. Unreachable controllers delay it by at most 2 s. */
  stop(reason?: string): Promise<void>;
}
