import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import { BoundedCache } from '../runtime/kit/bounded-cache.ts';

interface Entry<T> {
  readonly startedAt: number;
  readonly value: Promise<T>;
}

/**
 * A TTL cache with single flight, for values that every call needs. The age of an entry counts from the start of its read, so a
 * change on another node is seen after `ttlMs` at the latest. Failed reads are not cached.
 */
export class TtlCache<T> {
  readonly #read: (id: string) => Promise<T>;
  readonly #keep: (found: T) => boolean;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #ttlMs: number;
  readonly #entries: BoundedCache<string, Entry<T>>;

  /** `keep`: whether to cache a value. Made-up ids must not displace real entries. */
  constructor(parts: {
    readonly read: (id: string) => Promise<T>;
    readonly keep?: (found: T) => boolean;
    readonly clock: Pick<Clock, 'now'>;
    readonly ttlMs: number;
    readonly most: number;
  }) {
    this.#read = parts.read;
    this.#keep = parts.keep ?? (() => true);
    this.#clock = parts.clock;
    this.#ttlMs = parts.ttlMs;
    this.#entries = new BoundedCache(parts.most);
  }

  get(id: string): Promise<T> {
    const now = this.#clock.now();
    const known = this.#entries.get(id);
    // After the clock was set back an entry counts as expired.
    if (known !== undefined && now >= known.startedAt && now - known.startedAt < this.#ttlMs) return known.value;
    const entry: Entry<T> = { startedAt: now, value: this.#read(id) };
    this.#entries.put(id, entry);
    const drop = (): void => {
      if (this.#entries.get(id) === entry) this.#entries.delete(id);
    };
    entry.value.then((found) => {
      if (!this.#keep(found)) drop();
    }, drop);
    return entry.value;
  }

  /** Clears the cache after a change on this node. */
  forget(): void {
    this.#entries.clear();
  }
}

/** After a failed read the cached values are used for this long before the store is read again. */
const RETRY_AFTER_MS = 5_000;

/**
 * Serves the last known value while the store is unreachable (stale-if-error), so that running work continues under the rules it
 * started with. A key that was never read fails as the store does.
 */
export class StaleIfErrorCache<T> {
  readonly #read: (id: string) => Promise<T>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #known: BoundedCache<string, T>;
  #failedAt: number | null = null;

  constructor(parts: {
    readonly read: (id: string) => Promise<T>;
    readonly clock: Pick<Clock, 'now'>;
    readonly most: number;
  }) {
    this.#read = parts.read;
    this.#clock = parts.clock;
    this.#known = new BoundedCache(parts.most);
  }

  async read(id: string): Promise<T> {
    const known = this.#known.get(id);
    if (known !== undefined && this.#isUnreachable()) return known;
    try {
      const value = await this.#read(id);
      this.#failedAt = null;
      this.#known.put(id, value);
      return value;
    } catch (error) {
      if (known === undefined || !(error instanceof SvcError) || error.code !== 'unavailable') throw error;
      this.#failedAt = this.#clock.now();
      return known;
    }
  }

  /** Call it after a change on this node. */
  forget(id: string): void {
    this.#known.delete(id);
  }

  #isUnreachable(): boolean {
    const now = this.#clock.now();
    return this.#failedAt !== null && now >= this.#failedAt && now - this.#failedAt < RETRY_AFTER_MS;
  }
}
