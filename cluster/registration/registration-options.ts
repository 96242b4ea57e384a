import type { ChannelCredentials } from '@grpc/grpc-js';
import type { NodeCapabilityAdvertisement } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { NodeKey } from '../../security/node-key.ts';
import type { ConfigVerdict, RegistrationLog } from './managed-config.ts';

export interface RegistrationOptions {
  readonly nodeId: string;
  /** Controllers do not register. */
  readonly role: 'WORKER' | 'HYBRID';
  /** `host:port` of the controllers, in the order in which they are asked. */
  readonly controllers: readonly string[];
  /** From `clusterCredentials`. */
  readonly credentials: ChannelCredentials;
  /** The value itself, no reference; asked for with each attestation, so that it can be replaced. */
  readonly joinToken?: (() => Promise<string | undefined>) | undefined;
  readonly key: NodeKey;
  /** `host:port` under which other nodes reach this one's NodeClusterService. */
  readonly grpcAddress: string;
  /** What the node offers now, from `nodeCapabilities`; asked before every heartbeat. */
  readonly capabilities: () => NodeCapabilityAdvertisement;
  readonly activeExecutions: () => number;
  /** Whether the node drains for a reason of its own. */
  readonly draining: () => boolean;
  readonly heartbeatIntervalMs: number;
  readonly tokenRefreshMarginMs: number;

  readonly onDrain: () => void | Promise<void>;
  readonly onShutdown: (reason: string) => void | Promise<void>;
  /** Throws when the text could not be kept, which is tried again. */
  readonly applyConfig: (yaml: string) => Promise<ConfigVerdict>;
  readonly log: RegistrationLog;

  readonly clock?: Clock;
  readonly random?: Random;
  /** How long one controller has for an answer. Default 5 s. */
  readonly callTimeoutMs?: number;
  /** Pause after a refusal that only an operator can help with. Default 60 s. */
  readonly refusedPauseMs?: number;
}

/** How a node stands with its controllers, for operators. */
export interface RegistrationState {
  /** `refused`: an operator must help; `unreachable`: no controller answers, or none can at the moment. */
  readonly phase: 'joining' | 'registered' | 'refused' | 'unreachable' | 'stopped';
  readonly peerId: string | null;
  /** `host:port` of the controller that is asked first. */
  readonly controller: string;
  /** Unix ms of the last heartbeat that was answered. */
  readonly lastHeartbeatAt: number | null;
  readonly draining: boolean;
  /** What went wrong last; null while all is well. */
  readonly problem: string | null;
}

/** A node's membership in a fleet, kept up in the background. */
export interface Registration {
  state(): RegistrationState;
  /** Heartbeats at once: something changed, or an operator's word is known to wait. */
  heartbeatNow(): void;
  /** Deregisters, which a controller that is gone does not hold up for more than 2 s, and ends the connections. */
  stop(reason?: string): Promise<void>;
}
