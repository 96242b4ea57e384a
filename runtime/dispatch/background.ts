import type { Clock } from '../clock.ts';
import { toSvcError } from '../errors.ts';
import { repeat } from '../kit/waits.ts';

/** Runs work for which no caller waits. Its failures are always reported, and a loop repeats it. */
export class Background {
  readonly #clock: Clock;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #loops: (() => Promise<void>)[] = [];
  #stopped = false;

  constructor(clock: Clock, warn: (message: string, error: unknown) => void) {
    this.#clock = clock;
    this.#warn = warn;
  }

  watch(what: string, work: Promise<unknown>): void {
    work.catch((thrown: unknown) => this.#failed(what, thrown));
  }

  /** Repeats work until `stop`. The pause begins at the end of each run. */
  every(intervalMs: number, what: string, work: () => Promise<void>): void {
    const failed = (thrown: unknown): void => this.#failed(what, thrown);
    if (!this.#stopped) this.#loops.push(repeat(this.#clock, intervalMs, () => work().catch(failed)));
  }

  stop(): void {
    this.#stopped = true;
    for (const end of this.#loops) void end();
  }

  #failed(what: string, thrown: unknown): void {
    this.#warn(`${what} failed`, toSvcError(thrown));
  }
}
