/** A lease that the main thread renewed. */
interface Renewed {
  readonly lease: { readonly grant: string };
}

/** The leases that the lease thread renews while the main thread is silent. */
export class HeldGrants<T extends Renewed> {
  readonly #held = new Map<string, T & { readonly at: number }>();

  get size(): number {
    return this.#held.size;
  }

  /** `at`: milliseconds of any clock that `dropBefore` uses too. */
  renewed(granted: T, at: number): void {
    this.#held.set(granted.lease.grant, { ...granted, at });
  }

  drop(grant: string): void {
    this.#held.delete(grant);
  }

  /**
   * Drops the leases that the main thread did not renew since `since`: it gave them up, which it does not report for each lease
   * that it lost in an outage.
   */
  dropBefore(since: number): void {
    for (const [grant, { at }] of this.#held) if (at < since) this.#held.delete(grant);
  }

  get all(): readonly T[] {
    return [...this.#held.values()];
  }
}

/** When the lease thread renewed leases, by grant, as the main thread knows it. Times are milliseconds of `process.hrtime`. */
export class RenewalTimes {
  readonly #at = new Map<string, number>();

  get size(): number {
    return this.#at.size;
  }

  note(grants: readonly string[], at: number): void {
    for (const grant of grants) this.#at.set(grant, at);
  }

  /** Null when the thread has not renewed it since the last renewal by the main thread. */
  of(grant: string): number | null {
    return this.#at.get(grant) ?? null;
  }

  drop(grant: string): void {
    this.#at.delete(grant);
  }

  /** Drops renewals from before `since`. A lease that was not renewed for a whole term has ended. */
  dropBefore(since: number): void {
    for (const [grant, at] of this.#at) if (at < since) this.#at.delete(grant);
  }
}
