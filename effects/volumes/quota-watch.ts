import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';

export const quotaExceeded = (limitBytes: number): SvcError =>
  new SvcError('quota_exceeded', `the volume is full: it may hold ${limitBytes} bytes (ENOSPC)`);

interface Watched {
  readonly limit: number;
  readonly measure: () => Promise<number>;
  readonly over: () => void;
}

const EVERY_MS = 250;
/** Looking costs at most one part in this many of the time. */
const COST_SHARE = 20;

/** Looks again and again how much volumes hold while processes write to them that no file operation of ours can stop. */
export class QuotaWatch {
  readonly #clock: Clock;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #watched = new Set<Watched>();
  #looking = false;

  constructor(clock: Clock, warn: (message: string, error: unknown) => void) {
    this.#clock = clock;
    this.#warn = warn;
  }

  /** Calls `over` once when the measure is beyond the limit; the answer ends the watch. */
  add(watched: Watched): () => void {
    const entry = { ...watched };
    this.#watched.add(entry);
    if (!this.#looking) this.#schedule(EVERY_MS);
    return () => this.#watched.delete(entry);
  }

  #schedule(delayMs: number): void {
    this.#looking = true;
    this.#clock.after(delayMs, () => {
      this.#look().catch((error: unknown) => this.#warn('measuring volumes failed', error));
    });
  }

  async #look(): Promise<void> {
    const startedAt = this.#clock.monotonic();
    for (const watched of this.#watched) {
      const bytes = await watched.measure().catch((error: unknown) => {
        this.#warn('a volume could not be measured', error);
        return 0;
      });
      if (bytes <= watched.limit || !this.#watched.delete(watched)) continue;
      watched.over();
    }
    const costMs = this.#clock.monotonic() - startedAt;
    if (this.#watched.size > 0) this.#schedule(Math.max(EVERY_MS, costMs * COST_SHARE));
    else this.#looking = false;
  }
}
