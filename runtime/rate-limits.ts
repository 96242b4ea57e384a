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
 * Counters that all nodes of an installation share (spec 1, Errors; original-facts 13.1). Windows are fixed and counted by
 * the store's clock: window n of a bound covers [n·windowMs, (n+1)·windowMs).
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
