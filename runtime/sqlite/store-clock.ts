import type { Clock } from '../clock.ts';

/** How much faster or slower than real time the clock runs while it is off: a time-out of a minute is off by 6 s at most. */
const CORRECTION = 0.1;

/**
 * The time of the embedded store. While it is open it goes on with the monotonic clock, which neither a clock that is set
 * nor a sleep of the machine moves: what waits, waits as long as was asked for. It follows the wall clock slowly, and never
 * goes back, also not over restarts: it begins at the wall clock's time or where it was, whichever is later.
 */
export class StoreClock {
  readonly #clock: Clock;
  #time: number;
  #at: number;

  constructor(clock: Clock, kept: number) {
    this.#clock = clock;
    this.#time = Math.max(clock.now(), kept);
    this.#at = clock.monotonic();
  }

  /** Unix milliseconds, whole. */
  now(): number {
    const at = this.#clock.monotonic();
    const passed = Math.max(0, at - this.#at);
    const ahead = this.#clock.now() - (this.#time + passed);
    const most = passed * CORRECTION;
    this.#time += passed + Math.min(Math.max(ahead, -most), most);
    this.#at = at;
    return Math.floor(this.#time);
  }

  /** Takes the wall clock's time when that is later. Only while nothing waits: it would be due too early. */
  catchUp(): void {
    this.#time = Math.max(this.now(), this.#clock.now());
  }
}
