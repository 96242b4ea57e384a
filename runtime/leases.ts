import type { Address, Log, Partition, SharedLog } from './address.ts';
import type { MailboxEntry } from './message.ts';

export type Unsubscribe = () => void;

/** Ends a subscription. */
export interface Subscription {
  (): void;
  /** True: it was not in place when it was made. Its callback is called once it is. */
  readonly isPending?: boolean;
}

/** Proof that a node serves a log. The epoch grows at each grant; the grant id tells equal epochs apart (K4). */
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
      /** How many results were handled beside the mailbox at this cursor (`positionOf`). */
      readonly beside: number;
      /** Sequence number of the last entry at the grant. */
      readonly tail: number;
      readonly nextTimerAt: number | null;
      /** Store time of the grant. */
      readonly at: number;
      /**
       * The store may be older than when the partition was last served (a restored backup, a failover). The holder
       * checks its content and then calls `vouch`. Until then no effect of the partition can be claimed.
       */
      readonly mayBeOlder: boolean;
      /** The partition has no actors, and the store may have lost those that it had. Absent: it has not. */
      readonly mayHaveLostAll?: boolean;
      /** The partition has messages that were postponed in a shared log (`SharedLogs`). Absent: it has none. */
      readonly hasPostponed?: boolean;
    }
  | {
      readonly kind: 'held';
      readonly by: string;
      readonly grant: string;
      readonly remainingMs: number;
      /**
       * The shared log that still has unhandled entries of this partition. The partition shares it now, or shared it
       * until it was closed.
       */
      readonly behind?: SharedLog;
    };

/**
 * A lease that was valid when the store became unavailable to all nodes stays valid for one more term after it came
 * back.
 * Implemented by the actor stores: sqlite/actor-store.ts and redis/leases.ts.
 */
export interface Leases {
  /**
   * Grants the lease when it is free, expired, or held by an earlier process of the same node (the node's data
   * directory is locked, so that process has ended). `grant` is a new random id. `over` is the grant of a holder that
   * is known to be dead: if it is the current grant, it is ignored.
   */
  acquire(partition: Partition, node: string, grant: string, ttlMs: number, over?: string): Promise<AcquireOutcome>;
  /**
   * Extends leases. Returns those that were lost, including those whose store may have returned to a state before the
   * grant.
   */
  renew(leases: readonly Lease[], ttlMs: number): Promise<Lease[]>;
  /**
   * When a lease was last renewed while the event loop of this process was blocked, in `Clock.monotonic` of this
   * process; null when it was not renewed that way.
   */
  renewedAt(lease: Lease): number | null;
  /**
   * The position of a partition in a store that may have returned to an older state since this lease was granted: the position
   * when the present server granted it first, or the present one when no node has taken it since. Null when the server that
   * granted the lease is still there, so that it has lost nothing.
   */
  cameBackAt(lease: Lease<Partition>): Promise<number | null>;
  /** For fault injection: this process renews no lease for `ms` milliseconds, as if the whole process were frozen. */
  freeze(ms: number): void;
  /**
   * Confirms that the holder has checked what was granted with `mayBeOlder`: a partition, or an adopted log with its
   * partitions. False: the lease is lost.
   */
  vouch(lease: Lease): Promise<boolean>;
  release(lease: Lease<Partition>): Promise<void>;
  /** Calls back when a log that `node` holds got an entry. A call may get lost: it only shortens a poll. */
  onWake(node: string, wake: (log: Log) => void): Unsubscribe;
  /**
   * Calls back when the store can be reached again after its connection was lost, so that leases which expired meanwhile
   * are acquired at once. Absent in a store without a connection.
   */
  onReturn?(back: () => void): Unsubscribe;
}

export type AdoptOutcome =
  | {
      readonly kind: 'granted';
      readonly lease: Lease<SharedLog>;
      readonly cursor: number;
      readonly beside: number;
      /** Sequence number of the last entry. No more entries follow, because the grant closes the log. */
      readonly tail: number;
      /** Store time of the grant. */
      readonly at: number;
      /** As in a partition's lease (`AcquireOutcome`). */
      readonly mayBeOlder: boolean;
      /** Partitions that shared the log, without those that another holder has taken since it was closed. */
      readonly partitions: readonly Partition[];
      /** Partitions of these that have postponed messages. */
      readonly postponed: readonly Partition[];
    }
  | { readonly kind: 'held'; readonly by: string; readonly grant: string; readonly remainingMs: number }
  | { readonly kind: 'gone' };

/**
 * Logs that the partitions of one node share: one mailbox, one journal and one lease, so that messages of many
 * partitions are appended, read and committed together (decision 0029). While a partition shares a log, every message
 * for it goes there, its own mailbox is empty, and its lease lasts as long as the log's.
 *
 * A log is created under a new name, joined by partitions whose mailboxes are empty, closed once, and read to its end
 * by the holder of its lease. Sequence numbers keep growing: an entry of a partition has a greater number than all
 * entries before it, whichever log holds them. All calls are safe when they arrive twice or late.
 *
 * One commit covers many actors, so no single actor may delay it. Messages of an actor whose state loads slowly are
 * postponed: they leave the log and wait in their partition, in order, for the node that serves it
 * (`PartitionChanges.postponed`).
 * Implemented by `RedisSharedLogs` (redis/shared-logs.ts); the embedded store has none.
 */
export interface SharedLogs {
  /**
   * Whether logs may be created and messages postponed: true when only programs that know shared logs use the store.
   * Once true it stays true.
   */
  mayBeMade(): boolean;
  /**
   * Tag of a partition; partitions with equal tags may share a log. The tag is '' where all partitions may. The name of
   * a log with another tag begins with `log-TAG.`.
   */
  tagOf(partition: Partition): string;
  /**
   * Creates an empty log held by `node`, with numbers greater than those of these partitions. Null: the name was used
   * before.
   */
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
   * Adds partitions to a log. The outcome of each:
   * - `joined`: it shares the log from now on;
   * - `busy`: its own mailbox holds entries, or it has postponed messages;
   * - `ahead`: its numbers are greater than the log's, so it cannot share the log;
   * - `lost`: its lease is lost, or its store may have returned to a state before the grant.
   * Null: the log's lease is lost.
   */
  join(
    lease: Lease<SharedLog>,
    partitions: readonly Lease<Partition>[],
  ): Promise<readonly ('joined' | 'busy' | 'ahead' | 'lost')[] | null>;
  /**
   * Closes a log: every partition returns to a log of its own, and the log accepts no more entries. A log that was
   * never created is closed too, so that a late copy of `make` does not create it. Returns the number of the log's last
   * entry and the new cursor of its partitions; null when another node holds the log.
   */
  close(lease: Lease<SharedLog>): Promise<{ readonly tail: number; readonly cursor: number } | null>;
  /** Takes over the log of a node that is gone, as `Leases.acquire` does, and closes it. */
  adopt(log: SharedLog, node: string, grant: string, ttlMs: number, over?: string): Promise<AdoptOutcome>;
  /**
   * Removes a closed log that was read to its end and whose journal is empty. False: it is not empty, or the lease is
   * lost.
   */
  remove(lease: Lease<SharedLog>): Promise<boolean>;
  /**
   * Removes ended actors of a closed log, in a partition that another node may serve by now. Only actors whose records
   * are still the given ones are removed. Returns them.
   */
  forgetEnded(partition: Partition, records: ReadonlyMap<Address, string>): Promise<readonly Address[]>;
  /** Returns the postponed messages of a partition behind the number `after`, oldest first. */
  postponed(partition: Partition, after: number, limit: number): Promise<readonly MailboxEntry[]>;
  /** Returns the existing logs. */
  list(): Promise<readonly SharedLog[]>;
}

/** Number of positions for each entry number. */
const WIDTH = 10_000;

/**
 * Most results handled beside the mailbox at one cursor. Further results go through the mailbox, which moves the
 * cursor.
 */
export const MOST_BESIDE = WIDTH - 1;

/**
 * Position of a row in a partition's journal, and of a delivery in the ledger.
 *
 * A result of an effect that ran in the process of the log's holder does not go through the mailbox: the next batch
 * handles it directly ("beside the mailbox"). Several commits can therefore have the same cursor. A position combines
 * the number of the mailbox entry at the cursor with the count of results handled beside the mailbox at that cursor. It
 * is stored as one number, `17.0003`, so that positions can be compared, sorted and stored like entry numbers.
 */
export function positionOf(upTo: number, beside: number): number {
  // The quotient of two integers is the number that its decimal text names, so it reads back unchanged.
  return (upTo * WIDTH + beside) / WIDTH;
}

export function partsOf(position: number): { readonly upTo: number; readonly beside: number } {
  const upTo = Math.floor(position);
  return { upTo, beside: Math.round((position - upTo) * WIDTH) };
}

/** Converts a position to an integer that grows with it. */
export const countOf = (position: number): number => {
  const { upTo, beside } = partsOf(position);
  return upTo * WIDTH + beside;
};

/**
 * Position of the result at `index` of the `count` results that a commit handled, where `position` is that of the
 * commit's row.
 */
export function resultPosition(position: number, index: number, count: number): number {
  const { upTo, beside } = partsOf(position);
  return positionOf(upTo, beside - count + 1 + index);
}
