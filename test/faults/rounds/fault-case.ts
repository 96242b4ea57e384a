import type { StoreKind } from '../../kill/stores.ts';

/**
 * One external fault, repeated in rounds over nodes that are processes. `npm run faults` runs every case on each of its stores;
 * tests run a few rounds of it.
 */
export interface FaultCase {
  /** As on the command line: `early-cancel`. */
  readonly name: string;
  /** What breaks and what must hold, in one sentence. */
  readonly title: string;
  readonly stores: readonly StoreKind[];
  /** Starts what the rounds share. */
  open(store: StoreKind, seed: number): Promise<FaultStores>;
}

export interface FaultStores {
  /** Breaks once, heals, waits until all is quiet, and counts. All choices come from the seed. */
  round(seed: number): Promise<RoundOutcome>;
  close(): Promise<void>;
}

export interface StoreOutcome {
  /** Runs that the store lost. */
  readonly gone: number;
  /** Calls that ran again since the store lost a write of their run. */
  readonly again: number;
  /** Of partitions behind the loss; each of those that went back is told of in a log. */
  readonly takeovers: number;
  readonly behind: number;
  /** That went back, by the logs. */
  readonly actors: number;
}

export interface RoundOutcome {
  /** Runs (or calls) that were acknowledged in this round. */
  readonly runs: number;
  /** Of these, how many had not ended when the time for recovery was over. */
  readonly hung: number;
  /** Nodes that ended by themselves. */
  readonly nodesEnded: number;
  /** Acknowledged and gone, or ended in a way that the fault does not justify. */
  readonly lost: number;
  /** Commands or calls that ran again without the run saying so, counted by a witness outside the product. */
  readonly repeated: number;
  /** From the end of the fault until all was quiet; null when nothing had to recover. */
  readonly recoveryMs: number | null;
  /** Where the store itself lost writes: what that explains, which is in no other count. */
  readonly ofStore?: StoreOutcome;
  /** More to report, a sentence each: what a store lost, what was said in doubt. */
  readonly notes?: readonly string[];
}
