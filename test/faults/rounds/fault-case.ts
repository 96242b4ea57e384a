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
  /** Starts the nodes and stores that the rounds share. */
  open(store: StoreKind, seed: number): Promise<FaultStores>;
}

export interface FaultStores {
  /** Injects the fault once, removes it, waits until all is quiet, and counts. The seed decides all choices. */
  round(seed: number): Promise<RoundOutcome>;
  close(): Promise<void>;
}

interface StoreOutcome {
  /** Runs that the store lost. */
  readonly gone: number;
  /** Calls that ran again since the store lost a write of their run. */
  readonly again: number;
  /** Takeovers of partitions after the loss; a log line reports each one that was rewound. */
  readonly takeovers: number;
  readonly behind: number;
  /** Actors of rewound partitions, from the logs. */
  readonly actors: number;
}

export interface RoundOutcome {
  /** Runs (or calls) that were acknowledged in this round. */
  readonly runs: number;
  /** Of these, the number that had not ended when the time for recovery was over. */
  readonly hung: number;
  /** Nodes that exited by themselves. */
  readonly nodesEnded: number;
  /** Acknowledged runs that are gone, or ended in a way that the fault does not justify. */
  readonly lost: number;
  /** Commands or calls that ran again without a report in the run, counted outside of the product. */
  readonly repeated: number;
  /** From the end of the fault until all was quiet; null when nothing had to recover. */
  readonly recoveryMs: number | null;
  /** Effects of writes that the store itself lost; no other count includes them. */
  readonly ofStore?: StoreOutcome;
  /** Further findings, a sentence each: writes that a store lost, runs in doubt. */
  readonly notes?: readonly string[];
}
