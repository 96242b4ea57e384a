import type { Address, Partition } from './address.ts';
import type { Unsubscribe } from './leases.ts';
import type { Delivery } from './message.ts';

/** `repeatable` is run again after a crash; `once` is never repeated without somebody saying so (E2). */
export type EffectMode = 'repeatable' | 'once';

export interface EffectOpen {
  /** UUID. Never holds a colon (BullMQ job ids). */
  readonly id: string;
  /** Queue of the pool whose nodes may run it. */
  readonly queue: string;
  readonly address: Address;
  readonly mode: EffectMode;
  /** Whose turn it counts as (`ActorDefinition.fairnessKey`). */
  readonly fairnessKey?: string;
  /** Encoded request. */
  readonly body: string;
  /** Opened as started, attempt 1, by this runner: the commit is its claim, so it may run when the commit is durable. */
  readonly started?: { readonly runner: string; readonly ttlMs: number };
}

export interface EffectAttemptRef {
  readonly id: string;
  readonly attempt: number;
}

/** The result of an effect, as `settleEffect` takes it. */
export interface EffectSettle extends EffectAttemptRef {
  readonly delivery: Delivery;
}

export interface EffectRow {
  readonly id: string;
  readonly queue: string;
  readonly address: Address;
  readonly mode: EffectMode;
  readonly fairnessKey?: string;
  readonly status: 'open' | 'started';
  readonly attempt: number;
  /** Who started it (`node/incarnation`); empty while open. */
  readonly runner: string;
  /** Open: not to be claimed before; started: when the claim runs out. Unix ms on the store's clock. */
  readonly until: number;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed'; readonly attempt: number; readonly body: string }
  /** Another runner has it (`by`), or it may not be claimed yet (`by` is empty). `once`: its mode. */
  | { readonly kind: 'busy'; readonly by: string; readonly retryAfterMs: number; readonly once: boolean }
  /**
   * A `once` effect had started and its runner is gone: settle it as in doubt, at this attempt. It is the attempt that
   * had started, and the claim changes nothing: the first to settle it counts, also the runner that was taken for gone.
   */
  | { readonly kind: 'in_doubt'; readonly attempt: number; readonly body: string }
  /** Settled or cancelled. */
  | { readonly kind: 'gone' };

/** Implemented by the actor stores: sqlite/actor-store-effects.ts and redis/effect-ledger.ts. */
export interface EffectLedger {
  /** Unsettled effects of a partition, for the relay and the sweep. */
  openEffects(partition: Partition): Promise<EffectRow[]>;
  /**
   * Starts an attempt for `runner` (`node/incarnation`). A claim of the same node's earlier incarnation is expired, and
   * so is one of `over`, a runner that is known to be dead. A claim that held when the store went away for all nodes
   * holds for one more term after it came back.
   *
   * `claim` names this try, a UUID: the same runner with the same one gets the same attempt again while it runs, for
   * `ttlMs` from then on, since the first answer may have been lost. A late copy, after that attempt was given back or
   * taken over, starts nothing. Without it a repeat is `busy`.
   */
  claimEffect(
    partition: Partition,
    id: string,
    runner: string,
    ttlMs: number,
    over?: string,
    claim?: string,
  ): Promise<ClaimOutcome>;
  /** Extends a claim; false when the effect was cancelled, settled or taken over: stop the work. */
  keepEffect(partition: Partition, id: string, attempt: number, ttlMs: number): Promise<boolean>;
  /** Appends an intermediate result; false (dropped) unless the effect runs at this attempt. */
  progressEffect(partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean>;
  /** Appends the result and closes the effect in one step; false (dropped) unless it is open at this attempt. */
  settleEffect(partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean>;
  /**
   * Gives an attempt back for a retry after `delayMs`; false when it was not this attempt's to give, or not that of
   * `runner` where one is named.
   */
  reopenEffect(partition: Partition, id: string, attempt: number, delayMs: number, runner?: string): Promise<boolean>;
  /** Calls back with effects cancelled by a commit. May miss one: `keepEffect` tells too. */
  onEffectCancelled(stop: (id: string) => void): Unsubscribe;
}
