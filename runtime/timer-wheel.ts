import type { Partition } from './address.ts';
import type { Clock } from './clock.ts';

/**
 * When the next timer of each partition is due, and one clock timer for the earliest. The store holds the timers;
 * this only knows when to ask it to fire them.
 */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #fire: (due: readonly Partition[]) => void;
  readonly #next = new Map<Partition, number>();
  #armedFor = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => {};

  constructor(clock: Clock, fire: (due: readonly Partition[]) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  /** A timer of the partition is due at `at` (Unix ms); an earlier known one stands. */
  note(partition: Partition, at: number): void {
    const known = this.#next.get(partition);
    if (known !== undefined && known <= at) return;
    this.#next.set(partition, at);
    if (at < this.#armedFor) this.#arm();
  }

  /** What the store says is next, after it fired the due ones. */
  set(partition: Partition, at: number | null): void {
    if (at === null) this.#next.delete(partition);
    else this.#next.set(partition, at);
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
    const delay = Math.max(0, this.#armedFor - this.#clock.now()) + 1;
    this.#cancel = this.#clock.after(delay, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      const now = this.#clock.now();
      const due = [...this.#next].filter(([, at]) => at <= now).map(([partition]) => partition);
      for (const partition of due) this.#next.delete(partition);
      if (due.length > 0) this.#fire(due);
      this.#arm();
    });
  }
}
