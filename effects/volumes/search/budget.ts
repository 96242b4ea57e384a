import type { SearchBounds } from './job.ts';

const LOOK_AT_CLOCK_EVERY = 64;

/** What a search has left. `spent` names the bound that is used up. */
export class Budget {
  readonly #bounds: SearchBounds;
  readonly #endsAt: number;
  #found = 0;
  #foundBytes = 0;
  #ticks = 0;
  entries = 0;
  spent: 'found' | 'entries' | 'time' | null = null;

  constructor(bounds: SearchBounds) {
    this.#bounds = bounds;
    this.#endsAt = performance.now() + bounds.time_ms;
  }

  /** One more entry is looked at. False: enough. */
  entry(): boolean {
    if (this.entries >= this.#bounds.entries) this.spent ??= 'entries';
    else this.entries += 1;
    return this.going();
  }

  /** One more result of so many bytes. False: it has no place any more. */
  result(bytes: number): boolean {
    if (this.#found >= this.#bounds.found || this.#foundBytes + bytes > this.#bounds.found_bytes) {
      this.spent ??= 'found';
      return false;
    }
    this.#found += 1;
    this.#foundBytes += bytes;
    return true;
  }

  going(): boolean {
    this.#ticks += 1;
    if (this.#ticks % LOOK_AT_CLOCK_EVERY === 0 && performance.now() > this.#endsAt) this.spent ??= 'time';
    return this.spent === null;
  }
}
