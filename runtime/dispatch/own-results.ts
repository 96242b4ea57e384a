import type { EffectSettle } from '../effect-ledger.ts';

interface Waiting {
  readonly result: EffectSettle;
  readonly taken: (written: boolean) => void;
}

const MOST_AT_ONCE = 64;

/** Results of effects that ran in this process and wait for their partition's next commit: they go into one together. */
export class OwnResults {
  #waiting: Waiting[] = [];

  /**
   * False: it was not written and must be sent like any other. `serve` is called when there is something to take and
   * nothing was waiting already.
   */
  add(result: EffectSettle, serve: () => void): Promise<boolean> {
    return new Promise((taken) => {
      this.#waiting.push({ result, taken });
      if (this.#waiting.length === 1) serve();
    });
  }

  /** What waits, and how to say what became of it. */
  take(): { readonly results: readonly EffectSettle[]; readonly done: (written: boolean) => void } {
    const all = this.#waiting;
    this.#waiting = [];
    // Beyond that many the mailbox is the better way: it is read in parts.
    for (const { taken } of all.slice(MOST_AT_ONCE)) taken(false);
    const now = all.slice(0, MOST_AT_ONCE);
    return {
      results: now.map(({ result }) => result),
      done: (written) => {
        for (const { taken } of now) taken(written);
      },
    };
  }
}
