import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';

/**
 * When the next timer of each partition is due, and one clock timer for the earliest. The store holds the timers;
 * this only knows when to ask it to fire them. What is fired is forgotten here first, so what was noted meanwhile
 * stands; the store's answer is noted like any other.
 */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #nowOf: (partition: Partition) => number;
  readonly #fire: (due: readonly Partition[]) => void;
  readonly #next = new Map<Partition, number>();
  /** Monotonic milliseconds. */
  #armedFor = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => {};

  /** `nowOf`: the time of the store that holds the partition, as far as it is known; it judges the timers. */
  constructor(clock: Clock, nowOf: (partition: Partition) => number, fire: (due: readonly Partition[]) => void) {
    this.#clock = clock;
    this.#nowOf = nowOf;
    this.#fire = fire;
  }

  /** A timer of the partition is due at `at` (Unix ms, the store's); an earlier known one stands. */
  note(partition: Partition, at: number): void {
    const known = this.#next.get(partition);
    if (known !== undefined && known <= at) return;
    this.#next.set(partition, at);
    if (this.#clock.monotonic() + this.#delayOf(partition, at) < this.#armedFor) this.#arm();
  }

  /** The times of stores were heard anew. */
  adjust(): void {
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
    let delay = Number.POSITIVE_INFINITY;
    for (const [partition, at] of this.#next) delay = Math.min(delay, this.#delayOf(partition, at));
    if (delay === Number.POSITIVE_INFINITY) return;
    this.#armedFor = this.#clock.monotonic() + delay;
    this.#cancel = this.#clock.after(delay, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      const due = [...this.#next].flatMap(([partition, at]) => (at <= this.#nowOf(partition) ? [partition] : []));
      for (const partition of due) this.#next.delete(partition);
      if (due.length > 0) this.#fire(due);
      this.#arm();
    });
  }

  /** The store's clock decides; a millisecond more avoids asking just before it agrees. */
  #delayOf(partition: Partition, at: number): number {
    return Math.max(0, at - this.#nowOf(partition)) + 1;
  }
}
