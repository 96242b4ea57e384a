import { type Clock, systemClock } from '../../runtime/clock.ts';

interface Timer {
  readonly dueAt: number;
  readonly call: () => void;
}

/** A clock that a test advances; timers fire in order of their time. */
export class HandClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Timer>();

  now = (): number => this.#now;
  monotonic = (): number => this.#now;

  after = (delayMs: number, call: () => void): (() => void) => {
    const timer = { dueAt: this.#now + delayMs, call };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  /** Advances the clock; waits after each timer until its consequences have settled. */
  async pass(forMs: number): Promise<void> {
    const until = this.#now + forMs;
    for (;;) {
      const next = [...this.#timers].reduce<Timer | null>(
        (first, timer) => (timer.dueAt <= until && (first === null || timer.dueAt < first.dueAt) ? timer : first),
        null,
      );
      if (next === null) break;
      this.#now = Math.max(this.#now, next.dueAt);
      this.#timers.delete(next);
      next.call();
      await settled();
    }
    this.#now = until;
    await settled();
  }
}

/** Waits until all consequences have settled, without advancing the clock. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A clock for counters of rate limits whose windows do not end while a test counts. */
export function clockThatStands(): Clock {
  const at = Date.now();
  return { ...systemClock, now: () => at };
}
