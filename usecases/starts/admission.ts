import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';

/** `spec.limits` of the node. */
export interface AdmissionLimits {
  /** Starts in flight that are always accepted while the node has no queue. */
  readonly starts_in_flight: number;
  /**
   * Longest wait that an accepted start may have, ms, besides the time that a start itself takes, at the measured rate.
   */
  readonly start_wait_ms: number;
}

interface AdmissionParts {
  readonly limits: AdmissionLimits;
  readonly clock: Clock;
  readonly random: Random;
  /** Called when the node begins to refuse and when it accepts everything again; for the log. */
  readonly onChange?: (refuses: boolean, seen: AdmissionCounts) => void;
}

export interface AdmissionCounts {
  readonly inFlight: number;
  /** Most starts that may be in flight now. */
  readonly limit: number;
  readonly refused: number;
}

interface Start {
  /** Monotonic ms. */
  readonly at: number;
  readonly isAmongFew: boolean;
}

const WINDOW_MS = 500;
/** Weight of the newest window in the smoothed rate. */
const NEWEST = 0.3;
/** Weight of the newest start in the smoothed duration without load. */
const NEWEST_START = 0.05;
/** This many starts in flight are never refused, however slow they are, and do not count as a queue. */
const LEAST = 16;
/** Windows without a refusal before bursts are accepted again and the log reports it. */
const CALM_WINDOWS = 10;
const RETRY_AFTER_MS = { least: 1_000, most: 4_000 };

/**
 * Refuses new starts with `overloaded`, before their body is read, while the node has more than it can handle. The time
 * of a start is the number in flight divided by the number that end in a second (Little's law); the time that a start
 * takes without load is not waiting. So the limit is the number that waits no longer than the target, at the measured
 * rate. A limit on the whole time would not work: slow stores lower the rate, and the limit would shrink further and
 * further. A burst on a node without a queue is accepted: a queue exists only when more starts than the target allows
 * stayed in flight for a whole window. From then on the measured limit applies, until some seconds have passed without
 * a refusal. The rate is smoothed, so the limit does not flap. Only starts call this class: running work, reads,
 * cancels, answers and results are never refused.
 */
export class Admission {
  readonly #parts: AdmissionParts;
  readonly #begun = new Set<Start>();
  #endedInWindow = 0;
  /** Ms that a start takes without load; 0: not measured yet. */
  #aloneMs = 0;
  #ratePerSecond = 0;
  #refused = 0;
  #refusedInWindow = 0;
  #refusing = false;
  /** Fewest starts in flight at any moment of this window. */
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

  /** Begins a start; the caller calls the returned function when the start has ended. Throws `overloaded`. */
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
    // A random pause, so that refused callers do not all return at once.
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

/** Tools whose calls start a run and therefore count as starts. */
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
