import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';

/**
 * When the next timer of each partition is due, and one clock timer for the earliest. The store holds the timers;
 * this only knows when to ask it to fire them. What is fired is forgotten here first, so what was noted meanwhile
 * stands; the store's answer is noted like any other.
 */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #fire: (due: readonly Partition[]) => void;
  readonly #next = new Map<Partition, number>();
  #armedFor = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => {};
  /** From our monotonic clock to the store's: a wall clock that is set moves neither. */
  #offsetMs: number;

  constructor(clock: Clock, fire: (due: readonly Partition[]) => void) {
    this.#clock = clock;
    this.#offsetMs = clock.now() - clock.monotonic();
    this.#fire = fire;
  }

  /** A timer of the partition is due at `at` (Unix ms); an earlier known one stands. */
  note(partition: Partition, at: number): void {
    const known = this.#next.get(partition);
    if (known !== undefined && known <= at) return;
    this.#next.set(partition, at);
    if (at < this.#armedFor) this.#arm();
  }

  /** How far the store's clock, which judges timers, is ahead of ours (negative: behind). */
  adjust(aheadMs: number): void {
    this.#offsetMs = aheadMs + this.#clock.now() - this.#clock.monotonic();
    this.#arm();
  }

  drop(partition: Partition): void {
    this.#next.delete(partition);
  }

  stop(): void {
    this.#cancel();
    this.#next.clear();
  }

  #arm(): void {
    this.#cancel();
    this.#armedFor = Number.POSITIVE_INFINITY;
    for (const at of this.#next.values()) if (at < this.#armedFor) this.#armedFor = at;
    if (this.#armedFor === Number.POSITIVE_INFINITY) return;
    // The store's clock decides; a millisecond more avoids asking just before it agrees.
    const delay = Math.max(0, this.#armedFor - this.now()) + 1;
    this.#cancel = this.#clock.after(delay, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      const now = this.now();
      const due = [...this.#next].filter(([, at]) => at <= now).map(([partition]) => partition);
      for (const partition of due) this.#next.delete(partition);
      if (due.length > 0) this.#fire(due);
      this.#arm();
    });
  }

  /** The store's time as far as we know it, Unix ms. */
  now(): number {
    return this.#clock.monotonic() + this.#offsetMs;
  }
}
