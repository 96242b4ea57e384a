import type { Clock } from '../clock.ts';

/** A round is over when it has this many further requests for each answer that is missing. */
const REQUESTS = 3;
/** Longest time that a request waits for others. */
const MOST_MS = 10;
/** How long the first answer of a round takes, until it is known. */
const FIRST_MS = 1;

/**
 * Gathers the requests of many callers into rounds, and those of one round are sent together. A caller makes its next
 * request when it has its answer, so requests wait until most answers of the last round have come. They wait at most for
 * as long as the first answer of a round takes, and not at all while fewer than `least` answers are missing.
 */
export class Rounds {
  readonly #clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly #least: number;
  /** Requests of the last round without an answer. */
  #unanswered = new Set<string>();
  #gathered: string[] = [];
  #starts: (() => void)[] = [];
  #startedAt = 0;
  #isFirstMissing = false;
  /** How long the first answer of a round took lately, milliseconds. */
  #firstMs = FIRST_MS;
  #isStartDue = false;
  #isLookDue = false;
  #cancel: (() => void) | null = null;

  constructor(clock: Pick<Clock, 'monotonic' | 'after'>, least: number) {
    this.#clock = clock;
    this.#least = least;
  }

  /** Adds a request that will be answered to the next round. */
  add(id: string): void {
    this.#gathered.push(id);
    this.#lookSoon();
  }

  /** Calls `start` with the next round. */
  next(start: () => void): void {
    this.#starts.push(start);
    if (this.#isOver()) this.#startSoon();
    else this.#cancel ??= this.#clock.after(Math.min(MOST_MS, this.#firstMs), () => this.#start());
  }

  /** The answer to a request has come, or none will come. */
  answered(id: string): void {
    if (!this.#unanswered.delete(id)) return;
    if (this.#isFirstMissing) {
      this.#isFirstMissing = false;
      this.#firstMs += (this.#clock.monotonic() - this.#startedAt - this.#firstMs) / 8;
    }
    this.#lookSoon();
  }

  #isOver(): boolean {
    const missing = this.#unanswered.size;
    return missing < this.#least || this.#gathered.length >= REQUESTS * missing;
  }

  /** What this turn of the event loop brings belongs to the same round. */
  #lookSoon(): void {
    if (this.#isLookDue || this.#starts.length === 0) return;
    this.#isLookDue = true;
    setImmediate(() => {
      this.#isLookDue = false;
      if (this.#starts.length > 0 && this.#isOver()) this.#start();
    });
  }

  /** Requests of this tick start together. */
  #startSoon(): void {
    if (this.#isStartDue) return;
    this.#isStartDue = true;
    process.nextTick(() => {
      this.#isStartDue = false;
      if (this.#starts.length > 0) this.#start();
    });
  }

  #start(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#unanswered = new Set(this.#gathered);
    this.#gathered = [];
    this.#startedAt = this.#clock.monotonic();
    this.#isFirstMissing = true;
    for (const start of this.#starts.splice(0)) start();
  }
}
