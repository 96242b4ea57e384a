import type { Address, Partition } from '../../runtime/address.ts';
import type { Page, PageAsked } from '../../runtime/documents/pages.ts';
import type { Identity } from '../../runtime/identity.ts';

/** Injects faults into this process, through the kernel's own interfaces, for `svc chaos`. */
export interface FaultPort {
  /**
   * Removes the actor from memory and cuts its running effects off as if its node had crashed. Returns false when the
   * actor is not in this node's memory.
   */
  killActor(address: Address): Promise<boolean>;
  /** Drops the lease without a handover, as if this node had crashed. Returns false when this node does not hold it. */
  dropPartition(partition: Partition): Promise<boolean>;
  /** Blocks the event loop for `ms`. */
  stallMs(ms: number): void;
  /** Ends the process like kill -9: no lease is released and no buffer is flushed. */
  exit(): never;
  /** The node that serves an actor now; `node` is null when no node serves it. Throws `not_found`. */
  ownerOf(address: Address): Promise<{ readonly partition: Partition; readonly node: string | null }>;
}

export const FAULT_KINDS = ['kill-actor', 'kill-owner', 'kill-node', 'freeze-node'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Longest freeze, ms. For longer outages, kill the node. */
export const MAX_FREEZE_MS = 60_000;

/**
 * A fault to inject. `kill-actor` cuts the actor at `address` off where it runs; `kill-owner` makes the node that
 * serves it drop its partition; `kill-node` ends the process of a node; `freeze-node` blocks its event loop for `ms`.
 */
export type FaultRequest =
  | { readonly kind: 'kill-actor' | 'kill-owner'; readonly address: Address }
  | { readonly kind: 'kill-node'; readonly node: string }
  | { readonly kind: 'freeze-node'; readonly node: string; readonly ms: number };

/** An injected fault and its outcome. */
export interface Fault {
  readonly id: string;
  readonly kind: FaultKind;
  /** The address, or the node id. */
  readonly target: string;
  /** Tenant of the actor; `svc-system` for a node. */
  readonly tenant: string;
  /** Subject of the caller. */
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  readonly state: 'requested' | 'done' | 'refused';
  /** The node that has to act. */
  readonly node: string;
  /** Why it was refused; null otherwise. */
  readonly reason: string | null;
  /** Duration of a freeze; null for other faults. */
  readonly ms: number | null;
}

/** A page of injected faults, newest first. */
export interface FaultReport extends Page<Fault> {
  /** Injected faults among all those still on record. */
  readonly counts: Readonly<Record<FaultKind, number>>;
}

/**
 * Injects faults (`spec.chaos`). Off unless a node's configuration enables it, and only for the tenants that
 * it names.
 */
export interface ChaosApi {
  /** Whether this node accepts faults. */
  readonly enabled: boolean;
  /**
   * Records the fault, signals the target node and waits until that node has recorded the outcome. Throws `forbidden`
   * when this node or the target has chaos off or does not name the tenant, `not_found` for an unknown actor or node,
   * `failed_precondition` when the target was not where it should be, and `unavailable` when no node serves it or no
   * answer came in 5 s.
   */
  inject(request: FaultRequest, by: Identity): Promise<Fault>;
  /** Throws `invalid_argument` for a page token of another list. */
  list(page: PageAsked): Promise<FaultReport>;
  /** Stops accepting faults. */
  close(): void;
}
