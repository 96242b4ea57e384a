import type { Address, Partition } from './address.ts';
import type { Unsubscribe } from './leases.ts';
import type { Delivery } from './message.ts';

/**
 * A `repeatable` effect is run again after a crash. A `once` effect is repeated only when a policy or a person says so
 * (E2).
 */
export type EffectMode = 'repeatable' | 'once';

export interface EffectOpen {
  /** UUID. Never holds a colon (BullMQ job ids). */
  readonly id: string;
  /** Queue of the pool whose nodes may run the effect. */
  readonly queue: string;
  readonly address: Address;
  readonly mode: EffectMode;
  /** The agent or workflow that the effect counts for (`ActorDefinition.fairnessKey`). */
  readonly fairnessKey?: string;
  /** Encoded request. */
  readonly body: string;
  /**
   * Set when this runner opens the effect as started, at attempt 1. The commit is its claim, so the effect may run as
   * soon as the commit is durable.
   */
  readonly started?: { readonly runner: string; readonly ttlMs: number };
}

export interface EffectAttemptRef {
  readonly id: string;
  readonly attempt: number;
}

/** The result of an effect, as `settleEffect` takes it. */
export interface EffectSettle extends EffectAttemptRef {
  readonly delivery: Delivery;
  /** Its progress that was not sent and is handled before it, inline and oldest first. Only for a log of this process. */
  readonly before?: readonly Delivery[];
}

export interface EffectRow {
  readonly id: string;
  readonly queue: string;
  readonly address: Address;
  readonly mode: EffectMode;
  readonly fairnessKey?: string;
  readonly status: 'open' | 'started';
  readonly attempt: number;
  /** The runner that started it (`node/incarnation`); empty while open. */
  readonly runner: string;
  /**
   * Open: time before which it must not be claimed. Started: time when the claim expires. Unix ms on the store's clock.
   */
  readonly until: number;
  /** Why the last attempt that failed was given back for a retry; absent when none was. */
  readonly lastError?: EffectError;
}

/** The error of an attempt, as an actor or a reader may see it: one line, its message cut. */
export interface EffectError {
  readonly code: string;
  readonly message: string;
}

const MOST_ERROR_CHARS = 300;

/**
 * Most characters of an error that was cut and then encrypted (encryption/text-cipher.ts). Cutting the encrypted text would
 * make it unreadable.
 */
const MOST_ENCRYPTED_CHARS = 2_000;

/** An error as the stores keep it: `CODE MESSAGE` in one line. */
export const errorLine = ({ code, message }: EffectError): string =>
  `${code} ${message.replaceAll(/\s+/g, ' ').trim()}`
    .slice(0, message.startsWith('#') ? MOST_ENCRYPTED_CHARS : MOST_ERROR_CHARS)
    .trimEnd();

/** Reads what `errorLine` wrote; undefined for an empty text. */
export function readErrorLine(line: string): EffectError | undefined {
  if (line === '') return undefined;
  const [code = '', ...words] = line.split(' ');
  return { code, message: words.join(' ') };
}

export type ClaimOutcome =
  | { readonly kind: 'claimed'; readonly attempt: number; readonly body: string }
  /**
   * Another runner holds the effect (`by`), or it may not be claimed yet (`by` is empty). `once` is true for that mode.
   */
  | { readonly kind: 'busy'; readonly by: string; readonly retryAfterMs: number; readonly once: boolean }
  /**
   * A `once` effect had started and its runner is gone: settle it as in doubt, at this attempt. `attempt` is the
   * attempt that had started, and the claim changes nothing: the first settlement counts, even one by the runner that
   * was considered gone.
   */
  | { readonly kind: 'in_doubt'; readonly attempt: number; readonly body: string }
  /** The effect is settled or cancelled. */
  | { readonly kind: 'gone' };

/** Implemented by the actor stores: sqlite/actor-store-effects.ts and redis/effect-ledger.ts. */
export interface EffectLedger {
  /** Returns the unsettled effects of a partition, for the relay and the sweep. */
  openEffects(partition: Partition): Promise<EffectRow[]>;
  /** Returns these effects, for readers; null for one that is settled or cancelled. Reads no others. */
  effectRows(partition: Partition, ids: readonly string[]): Promise<(EffectRow | null)[]>;
  /** Returns the encoded requests of these effects, for readers; null for one that is settled or cancelled. */
  effectBodies(partition: Partition, ids: readonly string[]): Promise<(string | null)[]>;
  /**
   * Starts an attempt for `runner` (`node/incarnation`). Claims of an earlier incarnation of the same node have
   * expired, and so have those of `over`, a runner that is known to be dead. A claim that was valid when the store
   * became unavailable to all nodes stays valid for one more term after it came back.
   *
   * `claim` is a UUID that identifies this try. The same runner with the same `claim` gets the same attempt again while
   * it runs, for another `ttlMs`, because the first answer may have been lost. A late copy, after that attempt was
   * given back or taken over, starts nothing. Without `claim` a repeat returns `busy`.
   */
  claimEffect(
    partition: Partition,
    id: string,
    runner: string,
    ttlMs: number,
    over?: string,
    claim?: string,
  ): Promise<ClaimOutcome>;
  /** Extends a claim. False when the effect was cancelled, settled or taken over: the caller must stop the work. */
  keepEffect(partition: Partition, id: string, attempt: number, ttlMs: number): Promise<boolean>;
  /** Appends an intermediate result. False (dropped) unless the effect runs at this attempt. */
  progressEffect(partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean>;
  /**
   * Appends the result and closes the effect in one step. False (dropped) unless the effect is open at this attempt.
   */
  settleEffect(partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean>;
  /**
   * Gives an attempt back for a retry after `delayMs`. False when the effect is not at this attempt, or when another
   * runner than `runner` has it. `error` is why the attempt failed; without it the row keeps the error that it has.
   */
  reopenEffect(
    partition: Partition,
    id: string,
    attempt: number,
    delayMs: number,
    runner?: string,
    error?: EffectError,
  ): Promise<boolean>;
  /** Calls back with effects that a commit cancelled. A call may get lost: `keepEffect` reports the cancel too. */
  onEffectCancelled(stop: (id: string) => void): Unsubscribe;
}
