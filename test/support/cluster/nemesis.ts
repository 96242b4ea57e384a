import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../faulty-store.ts';

/** One kind of fault and how often it comes. */
export interface Fault {
  readonly name: string;
  /** Mean time between two of its strikes, ms; each waits half to one and a half of it. */
  readonly everyMs: number;
  /** Does it and undoes it; answers what was done, for the report. `random` is in [0, 1). */
  strike(random: () => number): Promise<string>;
}

export interface Struck {
  /** Since the nemesis began. */
  readonly atMs: number;
  readonly fault: string;
  readonly what: string;
  readonly tookMs: number;
}

/** Lets faults strike at seeded times until it is ended; the same seed gives the same plan of waits and choices. */
export class Nemesis {
  readonly seed: number;
  readonly struck: Struck[] = [];
  readonly #begunAt = performance.now();
  readonly #ending = new AbortController();
  readonly #loops: Promise<void>;

  constructor(seed: number, plan: readonly Fault[]) {
    this.seed = seed;
    this.#loops = Promise.all(plan.map((fault, index) => this.#loop(fault, seeded(seed + index * 7_919)))).then(
      () => {},
    );
    // Told by `end`; until then the run goes on with the other faults.
    this.#loops.catch(() => {});
  }

  /** No faults from here on; resolves when those that were under way are undone. Rejects when one of them failed. */
  async end(): Promise<readonly Struck[]> {
    this.#ending.abort();
    await this.#loops;
    return this.struck;
  }

  /** `kill 12, cut 3`. */
  summary(): string {
    const names = [...new Set(this.struck.map(({ fault }) => fault))];
    const counts = names.map((name) => `${name} ${this.struck.filter(({ fault }) => fault === name).length}`);
    return counts.length === 0 ? 'no faults' : counts.join(', ');
  }

  async #loop(fault: Fault, random: () => number): Promise<void> {
    const { signal } = this.#ending;
    for (let tookMs = 0; ; ) {
      // From strike to strike: what the last one took counts.
      const waitMs = Math.max(1, fault.everyMs * (0.5 + random()) - tookMs);
      await pause(waitMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const begun = performance.now();
      const what = await fault.strike(random);
      tookMs = Math.round(performance.now() - begun);
      this.struck.push({ atMs: Math.round(begun - this.#begunAt), fault: fault.name, what, tookMs });
    }
  }
}
