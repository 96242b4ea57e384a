import type { Address, Partition } from '../../runtime/address.ts';
import type { Identity } from '../../runtime/identity.ts';

/** The kernel's own ends for faults on purpose: what `svc chaos` does to this process. */
export interface FaultPort {
  /**
   * The actor leaves memory and its running effects are cut as if its node had died. False when it is not in this
   * node's memory.
   */
  killActor(address: Address): Promise<boolean>;
  /** Lets the lease go without handing over, as if this node had died. False when this node does not hold it. */
  dropPartition(partition: Partition): Promise<boolean>;
  /** Blocks the event loop. */
  stallMs(ms: number): void;
  /** Ends the process as kill -9 does: nothing is given back, nothing is flushed. */
  exit(): never;
  /** Where an actor is served at the moment; `node` is null when nobody serves it. Throws `not_found`. */
  ownerOf(address: Address): Promise<{ readonly partition: Partition; readonly node: string | null }>;
}

export const FAULT_KINDS = ['kill-actor', 'kill-owner', 'kill-node', 'freeze-node'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Longest freeze: beyond it a node should be killed. */
export const MAX_FREEZE_MS = 60_000;

/**
 * `kill-actor`: the actor at `address` is cut off where it runs. `kill-owner`: the node that serves it drops its
 * partition. `kill-node`: the process of a node ends. `freeze-node`: its event loop is blocked for `ms`.
 */
export type FaultRequest =
  | { readonly kind: 'kill-actor' | 'kill-owner'; readonly address: Address }
  | { readonly kind: 'kill-node'; readonly node: string }
  | { readonly kind: 'freeze-node'; readonly node: string; readonly ms: number };

/** What was asked for and what became of it. */
export interface Fault {
  readonly id: string;
  readonly kind: FaultKind;
  /** The address, or the node id. */
  readonly target: string;
  /** Of the actor; `svc-system` for a node. */
  readonly tenant: string;
  /** Subject of who asked. */
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  readonly state: 'requested' | 'done' | 'refused';
  /** The node that has to act. */
  readonly node: string;
  /** Why it was refused; null otherwise. */
  readonly reason: string | null;
  /** Of a freeze. */
  readonly ms: number | null;
}

export interface FaultReport {
  /** Faults that were done, of those still on record. */
  readonly counts: Readonly<Record<FaultKind, number>>;
  /** Newest first. */
  readonly faults: readonly Fault[];
}

/** Faults on purpose (`spec.chaos`): off unless a node is told otherwise, and only for the tenants it names. */
export interface ChaosApi {
  /** Whether this node takes faults. */
  readonly enabled: boolean;
  /**
   * Records the fault, tells the node and waits until that has recorded what it did. Throws `forbidden` where this node
   * or the other has chaos off or does not name the tenant, `not_found` for an actor or node that is not there,
   * `failed_precondition` when the target was not where it should be, `unavailable` when nobody serves it or no answer
   * came in 5 s.
   */
  inject(request: FaultRequest, by: Identity): Promise<Fault>;
  /** At most `limit` faults, newest first. */
  list(limit: number): Promise<FaultReport>;
  /** Takes no more faults. */
  close(): void;
}
