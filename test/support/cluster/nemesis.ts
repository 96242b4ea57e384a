import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../faulty-store.ts';

/** One kind of fault and how often it is injected. */
export interface Fault {
  readonly name: string;
  /** Mean time between two injections, ms; each pause is half to one and a half of it. */
  readonly everyMs: number;
  /** Injects the fault and removes it; returns what was done, for the report. `random` is in [0, 1). */
  strike(random: () => number): Promise<string>;
}

interface Struck {
  /** Since the start of the nemesis. */
  readonly atMs: number;
  readonly fault: string;
  readonly what: string;
  readonly tookMs: number;
}

/** Injects faults at random times until it is ended; the same seed gives the same times and choices. */
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
    // `end` throws it; until then the run goes on with the other faults.
    this.#loops.catch(() => {});
  }

  /** Injects no more faults; resolves when the current ones are removed. Rejects when one of them failed. */
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
      // From start to start: the time that the last one took counts.
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
