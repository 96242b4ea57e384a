import type { ChannelCredentials, Metadata } from '@grpc/grpc-js';
import type { NodeCapabilityAdvertisement } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { SvcError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';
import type { NodeKey } from '../../security/node-key.ts';
import type { Receiver } from '../../security/node-proofs/proof.ts';
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

/** Metadata that carries a proof for a receiver. */
export type Prove = (to: Receiver & { readonly at: number }) => Promise<Readonly<Record<string, string>>>;

/**
 * How far a receiver's clock may be from this node's to be followed. A proof for a later time could be kept until then, so what
 * a receiver says of its time is believed within a bound.
 */
const MAX_SKEW_MS = 15 * 60_000;

/**
 * What a node knows of the one at an address, from the trailers of its answers. Where it knows whom it calls, it makes proofs
 * for that node only, whatever the one that answers calls itself: else a node could have a proof made for another one.
 */
export class KnownReceiver {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #expected: string | null;
  #nodeId: string;
  #life = '';
  #theirTime: number | null = null;
  #aheadMs = 0;

  constructor(clock: Pick<Clock, 'now'>, expected: string | null) {
    this.#clock = clock;
    this.#expected = expected;
    this.#nodeId = expected ?? '';
  }

  /** For whom and for when a proof is made now. */
  now(): Receiver & { readonly at: number } {
    return { nodeId: this.#nodeId, life: this.#life, at: this.#clock.now() + this.#aheadMs };
  }

  /** Trailers of an answer; those of nodes that know no proofs say nothing. */
  hear(trailers: Metadata | undefined): void {
    const [nodeId, life, time] = ['svc-node-id', 'svc-node-life', 'svc-node-time'].map((key) => trailers?.get(key)[0]);
    if (typeof nodeId !== 'string' || typeof life !== 'string') return;
    if (this.#expected !== null && nodeId !== this.#expected) return;
    this.#nodeId = nodeId;
    this.#life = life;
    this.#theirTime = typeof time === 'string' && /^\d{1,16}$/.test(time) ? Number(time) : null;
  }

  /** Whether a call that was refused with a proof for `before` is worth another attempt, by what was heard since. */
  isWorthAnother(error: SvcError, before: Receiver): boolean {
    if (error.reason === 'proof_receiver') return before.nodeId !== this.#nodeId || before.life !== this.#life;
    if (error.reason !== 'proof_time' || this.#theirTime === null) return false;
    const aheadMs = this.#theirTime - this.#clock.now();
    if (Math.abs(aheadMs) > MAX_SKEW_MS) return false;
    this.#aheadMs = aheadMs;
    return true;
  }
}
