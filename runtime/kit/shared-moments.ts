import type { Clock } from '../clock.ts';

/** Something that waits for a moment. It is its own listener: a timer with its functions takes eight times the memory. */
export interface Timed {
  onTime(): void;
}

/** Moments are multiples of this, ms. */
const EVERY_MS = 100;

type Timers = Pick<Clock, 'after' | 'monotonic'>;

const ofClocks = new WeakMap<Timers, SharedMoments>();

/**
 * One timer for all that is due within a tenth of a second. For thousands of objects that wait for long and need no exact
 * moment; what they do then, they do together.
 */
export class SharedMoments {
  readonly #clock: Timers;
  readonly #due = new Map<number, Set<Timed>>();

  constructor(clock: Timers) {
    this.#clock = clock;
  }

  /** The shared moments of a clock. */
  static of(clock: Timers): SharedMoments {
    const known = ofClocks.get(clock) ?? new SharedMoments(clock);
    ofClocks.set(clock, known);
    return known;
  }

  /** Calls `onTime` at the first shared moment that is not before `at` (monotonic ms). Returns that moment, for `cancel`. */
  add(at: number, one: Timed): number {
    const moment = Math.ceil(at / EVERY_MS) * EVERY_MS;
    const known = this.#due.get(moment);
    if (known !== undefined) known.add(one);
    else {
      this.#due.set(moment, new Set([one]));
      this.#clock.after(Math.max(0, moment - this.#clock.monotonic()), () => this.#call(moment));
    }
    return moment;
  }

  cancel(moment: number, one: Timed): void {
    this.#due.get(moment)?.delete(one);
  }

  #call(moment: number): void {
    const due = this.#due.get(moment) ?? new Set();
    this.#due.delete(moment);
    for (const one of due) one.onTime();
  }
}
