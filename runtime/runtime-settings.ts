import type { RetrySettings } from './turns/actor-draft.ts';

export interface RuntimeSettings {
  /** Partitions of pool `default`. The number is fixed at the store's first start (K2). */
  readonly partitions: number;
  /** Partitions of pool `system`. */
  readonly systemPartitions: number;
  /** Partitions of each pool for tags. The number is fixed when the pool is created (P1). */
  readonly tagPoolPartitions: number;
  readonly leaseTtlMs: number;
  readonly leaseRenewMs: number;
  /** Whether the partitions of this node share a log, where the store supports it (decision 0029). */
  readonly sharedLogs: boolean;
  /** How long the set of held partitions must stay unchanged before they share a log, milliseconds. */
  readonly shareAfterMs: number;
  readonly pollMs: number;
  /**
   * When an entry of a held partition stays unread for this long, an alarm is raised and the partition is acquired
   * again.
   */
  readonly unreadMs: number;
  readonly batchLimit: number;
  /**
   * Turns that take this long together run while the commit before them is written, milliseconds. Shorter ones are not worth
   * a commit of their own (decision 0066). No turns do by default where the store is in the process.
   */
  readonly overlapMs: number;
  readonly mailboxBound: number;
  /** Most actors in memory, and most bytes of their encoded states. */
  readonly cacheLimit: number;
  readonly cacheBytes: number;
  readonly passivateAfterMs: number;
  readonly effectConcurrency: number;
  /** How long the claim of a command or program lasts without a renewal (`EffectHandler.lasting`). */
  readonly commandClaimTtlMs: number;
  /**
   * A large state is deleted this long after a later one replaced it. Until then a reader that holds its name can still
   * fetch it.
   */
  readonly replacedStatesKeptMs: number;
  /** How long a deleted actor is protected against late writes: late messages, and the writer of the ledger. */
  readonly removalsGuardedMs: number;
  readonly ledger: boolean;
  readonly retry: RetrySettings;
}

export const runtimeDefaults: RuntimeSettings = {
  partitions: 64,
  systemPartitions: 8,
  tagPoolPartitions: 32,
  leaseTtlMs: 6_000,
  leaseRenewMs: 2_000,
  sharedLogs: true,
  shareAfterMs: 250,
  pollMs: 1_000,
  unreadMs: 10_000,
  batchLimit: 256,
  overlapMs: 0.5,
  mailboxBound: 1_024,
  cacheLimit: 10_000,
  cacheBytes: 256 * 1024 * 1024,
  passivateAfterMs: 60_000,
  effectConcurrency: 32,
  commandClaimTtlMs: 30_000,
  replacedStatesKeptMs: 60_000,
  removalsGuardedMs: 120_000,
  ledger: true,
  retry: { maxAttempts: 5, initialDelayMs: 100, maxDelayMs: 10_000 },
};
