import type { Address, Log, Partition, SharedLog } from './address.ts';
import type { MailboxEntry } from './message.ts';

export type Unsubscribe = () => void;

/** Proof that a node serves a log. The epoch grows at each grant, the grant id tells equal epochs apart (K4). */
export interface Lease<L extends Log = Log> {
  readonly log: L;
  readonly node: string;
  readonly epoch: number;
  readonly grant: string;
}

export type AcquireOutcome =
  | {
      readonly kind: 'granted';
      readonly lease: Lease<Partition>;
      readonly cursor: number;
      /** Results handled beside the mailbox since the cursor stands there (journal-position.ts). */
      readonly beside: number;
      /** Number of the last entry at the grant. */
      readonly tail: number;
      readonly nextTimerAt: number | null;
      /** Store time of the grant. */
      readonly at: number;
      /**
       * The store may be an older one than when the partition was last served (a restored backup, a failover): the
       * holder looks through it and then calls `vouch`. Until then nobody claims an effect of it.
       */
      readonly mayBeOlder: boolean;
      /** Messages wait that were postponed in a log that the partition shared (shared-logs.ts). Absent: none do. */
      readonly hasPostponed?: boolean;
    }
  | {
      readonly kind: 'held';
      readonly by: string;
      readonly grant: string;
      readonly remainingMs: number;
      /** The log that the partition shares, or shared until it was closed, and whose entries are not all handled. */
      readonly behind?: SharedLog;
    };

/**
 * A lease that held when the store went away for all nodes holds for one more term after it came back.
 * Implemented by the actor stores: sqlite/actor-store.ts and redis/leases.ts.
 */
export interface Leases {
  /**
   * Grants the lease when it is free, expired, or held by an earlier life of the same node (its data directory is
   * locked, so that life has ended). `grant` is a fresh random id. `over` is the grant of a holder that is known to be
   * dead: while it is the one in force it does not count.
   */
  acquire(partition: Partition, node: string, grant: string, ttlMs: number, over?: string): Promise<AcquireOutcome>;
  /** Extends leases; answers those that were lost, also since the store may have gone back behind the grant. */
  renew(leases: readonly Lease[], ttlMs: number): Promise<Lease[]>;
  /**
   * When a lease was renewed last while the event loop of this process was held up, as `Clock.monotonic` of this process; null
   * when it was not.
   */
  renewedAt(lease: Lease): number | null;
  /** For faults on purpose: for so long nothing of this process renews a lease, as if all of it stood still. */
  freeze(ms: number): void;
  /** The holder has looked through a partition that was granted as `mayBeOlder`. False: the lease is lost. */
  vouch(lease: Lease): Promise<boolean>;
  release(lease: Lease<Partition>): Promise<void>;
  /** Calls back when a log that `node` holds got an entry. May miss one: it only shortens a poll. */
  onWake(node: string, wake: (log: Log) => void): Unsubscribe;
}

export type AdoptOutcome =
  | {
      readonly kind: 'granted';
      readonly lease: Lease<SharedLog>;
      readonly cursor: number;
      readonly beside: number;
      /** Number of the last entry: no more come, since the log is closed with the grant. */
      readonly tail: number;
      /** Store time of the grant. */
      readonly at: number;
      /** As of a partition's lease (`AcquireOutcome`). */
      readonly mayBeOlder: boolean;
      /** Those that shared it. */
      readonly partitions: readonly Partition[];
      /** Those of them in which messages are postponed. */
      readonly postponed: readonly Partition[];
    }
  | { readonly kind: 'held'; readonly by: string; readonly grant: string; readonly remainingMs: number }
  | { readonly kind: 'gone' };

/**
 * Logs that the partitions of one node share: one mailbox, one journal, one lease, so that what happens in many partitions at
 * a time is appended, read and committed together (decision 0029). While a partition shares a log, every message for it goes
 * there, its own mailbox is empty, and its lease holds as long as the log's does.
 *
 * A log is made under a fresh name, taken into by partitions whose mailboxes are empty, closed once, and read to its end by
 * who holds its lease. Numbers grow over that: an entry of a partition has a greater number than all before it, whichever log
 * they are in. All calls are safe when they arrive twice or late.
 *
 * One commit is for many actors, so none may keep it waiting. Messages of an actor whose state is slow to come are postponed:
 * they leave the log and wait in their partition, in order, for who serves it (`PartitionChanges.postponed`).
 * Implemented by `RedisSharedLogs` (redis/shared-logs.ts); the embedded store has none.
 */
export interface SharedLogs {
  /** Whether logs may be made and messages postponed: no program that does not know them uses the store. Once true it stays so. */
  mayBeMade(): boolean;
  /** Partitions with equal tags may share a log; '' where all may. The name of a log begins with `log-TAG.` for one that is not ''. */
  tagOf(partition: Partition): string;
  /** Makes an empty log that is held by `node`, with numbers behind those of these partitions. False: its name was used. */
  make(
    log: SharedLog,
    node: string,
    grant: string,
    ttlMs: number,
    partitions: readonly Partition[],
  ): Promise<Omit<
    Extract<AdoptOutcome, { kind: 'granted' }>,
    'partitions' | 'postponed' | 'tail' | 'mayBeOlder'
  > | null>;
  /**
   * Takes partitions in. `joined` of each: it shares the log from now on; `busy`: something waits in its own mailbox, or is postponed; `ahead`:
   * its numbers are ahead of the log's, which it cannot share; `lost`: its lease is, also since the store may have gone back behind the grant. Null: the log's lease is lost.
   */
  join(
    lease: Lease<SharedLog>,
    partitions: readonly Lease<Partition>[],
  ): Promise<readonly ('joined' | 'busy' | 'ahead' | 'lost')[] | null>;
  /**
   * Every partition goes back to a log of its own, and the log takes nothing more. A log that was never made is closed, too,
   * so that a late copy of `make` makes none. Answers the numbers of the log's last entry and of its partitions' cursors from
   * now on; null when another holds it.
   */
  close(lease: Lease<SharedLog>): Promise<{ readonly tail: number; readonly cursor: number } | null>;
  /** Takes the log of a node that is gone, as `Leases.acquire` does, and closes it. */
  adopt(log: SharedLog, node: string, grant: string, ttlMs: number, over?: string): Promise<AdoptOutcome>;
  /** Removes a closed log that was read to its end and whose journal is empty. False: it is not, or the lease is lost. */
  remove(lease: Lease<SharedLog>): Promise<boolean>;
  /**
   * Removes ended actors of a closed log whose partition another node may serve by now: those whose records are still the given
   * ones. Answers these.
   */
  forgetEnded(partition: Partition, records: ReadonlyMap<Address, string>): Promise<readonly Address[]>;
  /** Messages of a partition that are postponed, oldest first; not those up to the number `after`. */
  postponed(partition: Partition, after: number, limit: number): Promise<readonly MailboxEntry[]>;
  /** Those that are there. */
  list(): Promise<readonly SharedLog[]>;
}

/**
 * Position of a row in a partition's journal, and of a delivery in the ledger: the number of the mailbox entry that the
 * cursor stands at, and how many results of effects were handled beside the mailbox since it stands there. As one number,
 * `17.0003`, so that positions are compared, sorted and stored as the numbers of entries are.
 */
const WIDTH = 10_000;

/** Results handled beside the mailbox while its cursor stands still; more are sent through the mailbox, which moves it. */
export const MOST_BESIDE = WIDTH - 1;

export function positionOf(upTo: number, beside: number): number {
  // A quotient of two integers is the number that its decimal text names, so it is the same one when it is read back.
  return (upTo * WIDTH + beside) / WIDTH;
}

export function partsOf(position: number): { readonly upTo: number; readonly beside: number } {
  const upTo = Math.floor(position);
  return { upTo, beside: Math.round((position - upTo) * WIDTH) };
}

/** A whole number that grows with the position. */
export const countOf = (position: number): number => {
  const { upTo, beside } = partsOf(position);
  return upTo * WIDTH + beside;
};

/** Position of the result at `index` of `count` that a commit handled whose row is at `position`. */
export function resultPosition(position: number, index: number, count: number): number {
  const { upTo, beside } = partsOf(position);
  return positionOf(upTo, beside - count + 1 + index);
}
