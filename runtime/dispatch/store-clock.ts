import type { Clock } from '../clock.ts';

/**
 * The clock of the store that holds one partition, as far as this process knows it: what the store said last, plus the
 * monotonic time since its answer came. So it is behind the store by the way of an answer at most, never ahead, and
 * neither a clock of this machine that is wrong nor one that is set changes it.
 */
export class StoreClock {
  readonly #clock: Clock;
  #at: number;
  #heardAt: number;
  #last = 0;

  /** `at`: what the store said just now. */
  constructor(clock: Clock, at: number) {
    this.#clock = clock;
    this.#at = at;
    this.#heardAt = clock.monotonic();
  }

  /** The store said its time just now. */
  tell(at: number): void {
    this.#at = at;
    this.#heardAt = this.#clock.monotonic();
  }

  /** The store's time as far as it is known, Unix milliseconds. */
  now(): number {
    return Math.floor(this.#at + this.#clock.monotonic() - this.#heardAt);
  }

  /**
   * The time of a turn over entries that were appended up to `least`. Never before that of an earlier turn: not of this
   * holder, and not of the last one, whose turns the store had when it granted the lease.
   */
  turn(least: number): number {
    this.#last = Math.max(this.now(), least, this.#last);
    return this.#last;
  }
}
