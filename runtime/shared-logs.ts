import type { MailboxEntry } from './actor-store.ts';
import type { Address, Partition, SharedLog } from './address.ts';
import type { Lease } from './leases.ts';

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
