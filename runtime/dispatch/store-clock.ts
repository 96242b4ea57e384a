import type { Clock } from '../clock.ts';

/**
 * The clock of the store that holds one partition, as far as this process knows it: the last time that the store
 * reported, plus the monotonic time since that answer came. It is behind the store by at most the transit time of an
 * answer and never ahead. A wrong or changed clock of this machine does not affect it.
 */
export class StoreClock {
  readonly #clock: Clock;
  #at: number;
  #heardAt: number;
  #last = 0;

  /** `at` is the time that the store just reported. */
  constructor(clock: Clock, at: number) {
    this.#clock = clock;
    this.#at = at;
    this.#heardAt = clock.monotonic();
  }

  /** Notes the time that the store just reported. */
  tell(at: number): void {
    this.#at = at;
    this.#heardAt = this.#clock.monotonic();
  }

  /** The store's time as far as it is known, Unix milliseconds. */
  now(): number {
    return Math.floor(this.#at + this.#clock.monotonic() - this.#heardAt);
  }

  /**
   * The time of a turn over entries that were appended up to `least`. It is never before the time of an earlier turn,
   * neither of this holder nor of the last one, whose turns the store had when it granted the lease.
   */
  turn(least: number): number {
    this.#last = Math.max(this.now(), least, this.#last);
    return this.#last;
  }
}
