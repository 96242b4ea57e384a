import { WorkerThread } from '../../kit/worker-thread.ts';
import type { PackedRound, RoundPacker } from './ledger-round.ts';
import type { RecordedDeliveries } from './recorded-commits.ts';

/** A request to the thread: add deliveries to a round, or end the round. */
export interface PackingQuestion {
  /** Comes with the first question of a round. */
  readonly begin: { readonly node: string; readonly round: number } | null;
  /** Null: the round ends. */
  readonly add: { readonly deliveries: readonly RecordedDeliveries[]; readonly next: number } | null;
}

/** How long the thread stays without work, and how long after a failure none is started. */
const QUIET_MS = 30_000;

/** A round has at most 8 MB of text in memory. */
const MAX_HEAP_MB = 256;

/**
 * Packs rounds of many deliveries on a separate thread: finding keys, building lines, compressing and sorting take as long as a
 * third of the turns. The thread takes some 20 MB, so a node with little work has none.
 */
export class LedgerThread implements RoundPacker {
  readonly #thread: WorkerThread<PackingQuestion, PackedRound | null>;
  #begin: PackingQuestion['begin'] = null;
  #quiet: NodeJS.Timeout | undefined;
  #notBefore = 0;

  constructor(module = 'ledger-worker') {
    this.#thread = new WorkerThread({
      from: import.meta,
      module,
      mostWaiting: 2,
      maxHeapMb: MAX_HEAP_MB,
      lost: 'the thread that packs the ledger has ended',
    });
  }

  /** False for some time after the thread has failed. */
  get isReady(): boolean {
    return performance.now() >= this.#notBefore;
  }

  begin(node: string, round: number): void {
    clearTimeout(this.#quiet);
    this.#begin = { node, round };
  }

  add(deliveries: readonly RecordedDeliveries[], next: number): Promise<PackedRound | null> {
    return this.#ask({ deliveries, next });
  }

  async end(): Promise<PackedRound> {
    const packed = await this.#ask(null);
    this.#quiet = setTimeout(() => void this.#thread.close(), QUIET_MS).unref();
    return packed ?? { groups: [], runs: [] };
  }

  async close(): Promise<void> {
    clearTimeout(this.#quiet);
    await this.#thread.close();
  }

  async #ask(add: PackingQuestion['add']): Promise<PackedRound | null> {
    const begin = this.#begin;
    this.#begin = null;
    try {
      return await this.#thread.ask({ begin, add });
    } catch (thrown) {
      this.#notBefore = performance.now() + QUIET_MS;
      throw thrown;
    }
  }
}
