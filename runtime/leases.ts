import type { Log, Partition, SharedLog } from './address.ts';

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

/** A lease that held when the store went away for all nodes holds for one more term after it came back. */
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
  onBell(node: string, ring: (log: Log) => void): Unsubscribe;
}
