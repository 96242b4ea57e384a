import type { Clock } from '../../runtime/clock.ts';

/**
 * Ends a call whose model takes too long to begin, or falls silent in the middle. `signal` also ends with the
 * effect's own signal, so what is given to the socket is this one alone.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #ending = new AbortController();
  #dueAt: number;
  #cancelTimer: () => void = () => {};
  #held = false;
  /** The time was used up; not set when the caller gave up for another reason. */
  lost = false;
  readonly signal: AbortSignal;

  constructor(clock: Clock, outer: AbortSignal, limits: { readonly firstMs: number; readonly silenceMs: number }) {
    this.#clock = clock;
    this.#silenceMs = limits.silenceMs;
    this.#dueAt = clock.monotonic() + limits.firstMs;
    this.signal = AbortSignal.any([outer, this.#ending.signal]);
    this.#arm();
  }

  /** The model said something. */
  heard(): void {
    this.#dueAt = this.#clock.monotonic() + this.#silenceMs;
  }

  /** Waits for something else than the model; that time does not count. */
  async hold(wait: Promise<void>): Promise<void> {
    this.#held = true;
    try {
      await wait;
    } finally {
      this.#held = false;
      this.heard();
    }
  }

  /** The call is over, well or badly: closes what is still open of it. */
  end(): void {
    this.#cancelTimer();
    this.#ending.abort();
  }

  /** One timer for the whole call: at its end it looks how much time is really left. */
  #arm(): void {
    const leftMs = this.#held ? this.#silenceMs : this.#dueAt - this.#clock.monotonic();
    if (leftMs > 0) {
      this.#cancelTimer = this.#clock.after(Math.ceil(leftMs), () => this.#arm());
      return;
    }
    this.lost = true;
    this.#ending.abort();
  }
}
