import { SvcError } from './errors.ts';

/** One bound: at most `limit` units in each window of `windowMs`, counted under `key`. */
export interface RateLimit {
  /** Tenant, subject and what is counted; see `rate-keys` of each caller. At most 512 characters. */
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

/** What was taken in the window that is open. */
export interface RateCount {
  readonly used: number;
  /** When the window ends by the store's clock, Unix ms. */
  readonly resetsAt: number;
}

/**
 * Counters that all nodes of an installation share (H27). Windows are fixed and counted by
 * the store's clock: window n of a bound covers [n·windowMs, (n+1)·windowMs).
 * Implemented by `SqliteRateLimits` (sqlite/rate-limits.ts) and `RedisRateLimits` (redis/rate-limits.ts).
 */
export interface RateLimits {
  /**
   * Takes `units` (default 1) from every bound, or from none: one atomic step. Refused when any bound has fewer left:
   * `broken` is the bound that refused, of several the one whose window ends last, `retryAfterMs` when that is. Bounds
   * of one call share `tenant`. Throws `invalid_argument`, and `unavailable` when the counters cannot be reached.
   */
  take(
    tenant: string,
    limits: readonly RateLimit[],
    units?: number,
  ): Promise<
    { readonly taken: true } | { readonly taken: false; readonly broken: RateLimit; readonly retryAfterMs: number }
  >;
  /**
   * What the open windows of the bounds hold, in their order; takes nothing. Throws as `take` does.
   */
  read(tenant: string, limits: readonly RateLimit[]): Promise<readonly RateCount[]>;
  close(): Promise<void>;
}

const MAX_BOUNDS = 64;

const MAX_KEY_CHARACTERS = 512;

/** About 35 years: no window is longer than what a double counts in exactly. */
const MAX_WINDOW_MS = 2 ** 40;

const MAX_COUNT = 2 ** 48;

const isCount = (value: number, max: number): boolean => Number.isSafeInteger(value) && value >= 0 && value <= max;

/** What every adapter of `RateLimits` refuses before it counts. Throws `invalid_argument` naming the field. */
export function checkTake(tenant: string, limits: readonly RateLimit[], units: number): void {
  if (tenant === '') throw wrong('tenant', 'expected a tenant');
  if (!isCount(units, MAX_COUNT)) throw wrong('units', `expected a whole number from 0 to ${MAX_COUNT}, got ${units}`);
  if (limits.length > MAX_BOUNDS) throw wrong('limits', `expected at most ${MAX_BOUNDS}, got ${limits.length}`);
  for (const { key, limit, windowMs } of limits) {
    if (key.length === 0 || key.length > MAX_KEY_CHARACTERS)
      throw wrong('limits.key', `expected 1 to ${MAX_KEY_CHARACTERS} characters, got ${key.length}`);
    if (!isCount(limit, MAX_COUNT)) throw wrong('limits.limit', `expected a whole number, got ${limit}`);
    if (!isCount(windowMs, MAX_WINDOW_MS) || windowMs === 0)
      throw wrong('limits.windowMs', `expected milliseconds from 1 to ${MAX_WINDOW_MS}, got ${windowMs}`);
  }
}

const wrong = (field: string, text: string): SvcError =>
  new SvcError('invalid_argument', `${field}: ${text}`, { field });
