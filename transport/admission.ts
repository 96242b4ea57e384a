import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';

/** `spec.limits` of the node. */
export interface AdmissionLimits {
  /** So many under way are never refused, however slow they are. */
  readonly starts_in_flight: number;
  /** More are taken while they wait no longer than this at the rate that is measured. */
  readonly start_wait_ms: number;
}

export interface AdmissionParts {
  readonly limits: AdmissionLimits;
  readonly clock: Clock;
  readonly random: Random;
  /** Told when the node begins to refuse, and when it takes all again; for the log. */
  readonly onChange?: (refuses: boolean, seen: AdmissionCounts) => void;
}

export interface AdmissionCounts {
  readonly inFlight: number;
  /** So many may be under way now. */
  readonly limit: number;
  readonly refused: number;
}

const WINDOW_MS = 500;
/** Weight of the newest window. */
const NEWEST = 0.3;
/** Windows without a refusal until the log says that all is taken again. */
const CALM_WINDOWS = 10;
const RETRY_AFTER_MS = { least: 1_000, most: 4_000 };

/**
 * Refuses new work while the node has more than it can take. What a start waits is how many are under way by how many end in
 * a second (Little's law), so as many are let in as wait no longer than the target at the rate that is measured, and never
 * fewer than a number that is always taken. Further ones are `overloaded` before their body is read. The bound moves with a
 * smoothed rate, so it does not flap. What runs, reads, cancels, answers and results never come here.
 */
export class Admission {
  readonly #parts: AdmissionParts;
  readonly #begun = new Set<object>();
  #endedInWindow = 0;
  #ratePerSecond = 0;
  #refused = 0;
  #refusedInWindow = 0;
  #refusing = false;
  #calm = 0;
  #windowFrom: number;
  #cancel: () => void = () => {};

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.#windowFrom = parts.clock.monotonic();
    this.#arm();
  }

  get counts(): AdmissionCounts {
    const { starts_in_flight, start_wait_ms } = this.#parts.limits;
    const limit = Math.max(starts_in_flight, Math.floor((this.#ratePerSecond * start_wait_ms) / 1_000));
    return { inFlight: this.#begun.size, limit, refused: this.#refused };
  }

  /** Throws `overloaded` when a start would be refused now. */
  check(): void {
    const { inFlight, limit } = this.counts;
    if (inFlight < limit) return;
    this.#refused += 1;
    this.#refusedInWindow += 1;
    const { least, most } = RETRY_AFTER_MS;
    // Spread, so that those refused do not come back at once.
    const retryAfterMs = least + Math.round(this.#parts.random.fraction() * (most - least));
    throw new SvcError('overloaded', undefined, { retryAfterMs });
  }

  /** A start is under way until the answer is called. Throws `overloaded`. */
  enter(): () => void {
    this.check();
    const start = {};
    this.#begun.add(start);
    return () => {
      if (this.#begun.delete(start)) this.#endedInWindow += 1;
    };
  }

  close(): void {
    this.#cancel();
  }

  #arm(): void {
    this.#cancel = this.#parts.clock.after(WINDOW_MS, () => {
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    const { clock, onChange } = this.#parts;
    const now = clock.monotonic();
    const rate = (this.#endedInWindow * 1_000) / Math.max(1, now - this.#windowFrom);
    this.#ratePerSecond += NEWEST * (rate - this.#ratePerSecond);
    this.#calm = this.#refusedInWindow > 0 ? 0 : this.#calm + 1;
    const refusing = this.#refusedInWindow > 0 || (this.#refusing && this.#calm < CALM_WINDOWS);
    this.#windowFrom = now;
    this.#endedInWindow = 0;
    this.#refusedInWindow = 0;
    if (refusing === this.#refusing) return;
    this.#refusing = refusing;
    onChange?.(refusing, this.counts);
  }
}
