import { invalidField } from './errors.ts';

/** One limit: at most `limit` units in each window of `windowMs`, counted under `key`. */
export interface RateLimit {
  /** Names the tenant, the subject and what is counted; see `rate-keys` of each caller. At most 512 characters. */
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

/** The count of the current window. */
export interface RateCount {
  readonly used: number;
  /** When the window ends on the store's clock, Unix ms. */
  readonly resetsAt: number;
}

/**
 * Counters that all nodes of an installation share (H27). Windows are fixed and follow the store's clock: window n of a
 * limit covers [n·windowMs, (n+1)·windowMs).
 * Implemented by `SqliteRateLimits` (sqlite/rate-limits.ts) and `RedisRateLimits` (redis/rate-limits.ts).
 */
export interface RateLimits {
  /**
   * Takes `units` (default 1) from every limit or from none, in one atomic step. It refuses when any limit has fewer
   * units left: `broken` is the limit that refused (if there are several, the one whose window ends last), and
   * `retryAfterMs` is the time until that window ends. The limits of one call share `tenant`. Throws
   * `invalid_argument`, and `unavailable` when the counters cannot be reached.
   */
  take(
    tenant: string,
    limits: readonly RateLimit[],
    units?: number,
  ): Promise<
    { readonly taken: true } | { readonly taken: false; readonly broken: RateLimit; readonly retryAfterMs: number }
  >;
  /** Returns the counts of the current windows, in the order of `limits`, and takes nothing. Throws as `take` does. */
  read(tenant: string, limits: readonly RateLimit[]): Promise<readonly RateCount[]>;
  close(): Promise<void>;
}

const MAX_BOUNDS = 64;

const MAX_KEY_CHARACTERS = 512;

/** Longest window, about 35 years: a double counts exactly up to there. */
const MAX_WINDOW_MS = 2 ** 40;

const MAX_COUNT = 2 ** 48;

const isCount = (value: number, max: number): boolean => Number.isSafeInteger(value) && value >= 0 && value <= max;

/** Checks the arguments of `take` before any adapter counts. Throws `invalid_argument` naming the field. */
export function checkTake(tenant: string, limits: readonly RateLimit[], units: number): void {
  if (tenant === '') throw invalidField('tenant', 'expected a tenant');
  if (!isCount(units, MAX_COUNT))
    throw invalidField('units', `expected a whole number from 0 to ${MAX_COUNT}, got ${units}`);
  if (limits.length > MAX_BOUNDS) throw invalidField('limits', `expected at most ${MAX_BOUNDS}, got ${limits.length}`);
  for (const { key, limit, windowMs } of limits) {
    if (key.length === 0 || key.length > MAX_KEY_CHARACTERS)
      throw invalidField('limits.key', `expected 1 to ${MAX_KEY_CHARACTERS} characters, got ${key.length}`);
    if (!isCount(limit, MAX_COUNT)) throw invalidField('limits.limit', `expected a whole number, got ${limit}`);
    if (!isCount(windowMs, MAX_WINDOW_MS) || windowMs === 0)
      throw invalidField('limits.windowMs', `expected milliseconds from 1 to ${MAX_WINDOW_MS}, got ${windowMs}`);
  }
}
