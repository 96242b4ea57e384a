import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';

/** `spec.limits` of the node. */
export interface AdmissionLimits {
  /** So many may come at once to a node on which none has to queue. */
  readonly starts_in_flight: number;
  /** More are taken while they wait no longer than this, beside what a start takes, at the rate that is measured. */
  readonly start_wait_ms: number;
}

interface AdmissionParts {
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

interface Start {
  /** Monotonic ms. */
  readonly at: number;
  readonly isAmongFew: boolean;
}

const WINDOW_MS = 500;
/** Weight of the newest window. */
const NEWEST = 0.3;
/** Weight of the newest start that was among few. */
const NEWEST_START = 0.05;
/** So many under way are never refused, however slow they are, and do not count as a queue. */
const LEAST = 16;
/** Windows without a refusal until starts may come at once again, and the log says so. */
const CALM_WINDOWS = 10;
const RETRY_AFTER_MS = { least: 1_000, most: 4_000 };

/**
 * Refuses new work while the node has more than it can take. What a start takes is how many are under way by how many end in
 * a second (Little's law); what it takes while few are under way is no waiting. So as many are let in as take that and wait
 * no longer than the target at the rate that is measured: where the stores are slow, a bound on the whole time would let in
 * fewer and fewer, since with them the rate falls. Further ones are `overloaded` before their body is read. Many that come at once to a node without a queue are let in: only when more
 * than the target allows stayed under way for a whole window do they queue, and the bound is the measured one until there
 * was no refusal for some seconds. The rate is smoothed, so it does not flap. What runs, reads, cancels, answers and
 * results never come here.
 */
export class Admission {
  readonly #parts: AdmissionParts;
  readonly #begun = new Set<Start>();
  #endedInWindow = 0;
  /** Milliseconds that a start takes while few are under way; 0: none was seen yet. */
  #aloneMs = 0;
  #ratePerSecond = 0;
  #refused = 0;
  #refusedInWindow = 0;
  #refusing = false;
  /** Under way throughout this window. */
  #standing = 0;
  #queues = false;
  #calm = 0;
  #windowFrom: number;
  #cancel: () => void = () => {};

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
    this.#windowFrom = parts.clock.monotonic();
    this.#arm();
  }

  get counts(): AdmissionCounts {
    const { starts_in_flight } = this.#parts.limits;
    const least = this.#queues ? Math.min(LEAST, starts_in_flight) : starts_in_flight;
    const limit = Math.max(least, Math.floor(this.#mayBeUnderWay()));
    return { inFlight: this.#begun.size, limit, refused: this.#refused };
  }

  /** A start is under way until the answer is called. Throws `overloaded`. */
  enter(): () => void {
    const { inFlight, limit } = this.counts;
    if (inFlight >= limit) throw this.#refusal();
    const start = { at: this.#parts.clock.monotonic(), isAmongFew: inFlight < LEAST };
    this.#begun.add(start);
    return () => {
      const areFew = this.#begun.size <= LEAST;
      if (!this.#begun.delete(start)) return;
      if (start.isAmongFew && areFew) this.#tookAlone(this.#parts.clock.monotonic() - start.at);
      this.#endedInWindow += 1;
      this.#standing = Math.min(this.#standing, this.#begun.size);
    };
  }

  #tookAlone(ms: number): void {
    this.#aloneMs += (this.#aloneMs === 0 ? 1 : NEWEST_START) * (ms - this.#aloneMs);
  }

  #mayBeUnderWay(): number {
    return (this.#ratePerSecond * (this.#aloneMs + this.#parts.limits.start_wait_ms)) / 1_000;
  }

  #refusal(): SvcError {
    this.#refused += 1;
    this.#refusedInWindow += 1;
    const { least, most } = RETRY_AFTER_MS;
    // Spread, so that those refused do not come back at once.
    const retryAfterMs = least + Math.round(this.#parts.random.fraction() * (most - least));
    return new SvcError('overloaded', undefined, { retryAfterMs });
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
    this.#queues = this.#standing > Math.max(LEAST, this.#mayBeUnderWay()) || (this.#queues && refusing);
    this.#standing = this.#begun.size;
    this.#windowFrom = now;
    this.#endedInWindow = 0;
    this.#refusedInWindow = 0;
    if (refusing === this.#refusing) return;
    this.#refusing = refusing;
    onChange?.(refusing, this.counts);
  }
}

/** Tools that start a run: their calls count as starts. */
const STARTING: ReadonlySet<string> = new Set([
  'svc.agent.generate',
  'svc.execute',
  'svc.execute.intent',
  'svc.task.execute',
  'svc.workflow.generate',
  'svc.workflow.run',
]);

/** Whether a call of this tool starts a run. */
export const startsRun = (tool: string): boolean => STARTING.has(tool);
