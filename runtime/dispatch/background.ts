import type { Clock } from '../clock.ts';
import { toSvcError } from '../errors.ts';

/** Runs work for which no caller waits. Its failures are always reported, and a loop repeats it. */
export class Background {
  readonly #clock: Clock;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #loops: (() => void)[] = [];
  #stopped = false;

  constructor(clock: Clock, warn: (message: string, error: unknown) => void) {
    this.#clock = clock;
    this.#warn = warn;
  }

  watch(what: string, work: Promise<unknown>): void {
    work.catch((thrown: unknown) => this.#warn(`${what} failed`, toSvcError(thrown)));
  }

  /** Repeats work until `stop`. The pause begins at the end of each run. */
  every(intervalMs: number, what: string, work: () => Promise<void>): void {
    const slot = this.#loops.length;
    const arm = (): void => {
      if (this.#stopped) return;
      this.#loops[slot] = this.#clock.after(intervalMs, () => this.watch(what, work().finally(arm)));
    };
    this.#loops.push(() => {});
    arm();
  }

  stop(): void {
    this.#stopped = true;
    for (const cancel of this.#loops) cancel();
  }
}
