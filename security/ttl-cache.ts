import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';

interface Look<T> {
  readonly startedAt: number;
  readonly found: Promise<T>;
}

/**
 * What was read a moment ago, for what every call asks. It counts as fresh from before the store was asked, so what
 * changed on another node is seen here after `freshMs` at the latest. Of one id at most one read is under way.
 */
export class TtlCache<T> {
  readonly #read: (id: string) => Promise<T>;
  readonly #keep: (found: T) => boolean;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #freshMs: number;
  readonly #most: number;
  readonly #looks = new Map<string, Look<T>>();

  /** `keep`: whether to remember it at all; what strangers make up must not push out what counts. Failures never are. */
  constructor(parts: {
    readonly read: (id: string) => Promise<T>;
    readonly keep?: (found: T) => boolean;
    readonly clock: Pick<Clock, 'now'>;
    readonly freshMs: number;
    readonly most: number;
  }) {
    this.#read = parts.read;
    this.#keep = parts.keep ?? (() => true);
    this.#clock = parts.clock;
    this.#freshMs = parts.freshMs;
    this.#most = parts.most;
  }

  get(id: string): Promise<T> {
    const now = this.#clock.now();
    const known = this.#looks.get(id);
    // A clock that was set back makes nothing fresh.
    if (known !== undefined && now >= known.startedAt && now - known.startedAt < this.#freshMs) return known.found;
    const look: Look<T> = { startedAt: now, found: this.#read(id) };
    this.#looks.delete(id);
    this.#looks.set(id, look);
    const [oldest] = this.#looks.keys();
    if (oldest !== undefined && this.#looks.size > this.#most) this.#looks.delete(oldest);
    const drop = (): void => {
      if (this.#looks.get(id) === look) this.#looks.delete(id);
    };
    look.found.then((found) => {
      if (!this.#keep(found)) drop();
    }, drop);
    return look.found;
  }

  /** All is read anew: something changed here. */
  forget(): void {
    this.#looks.clear();
  }
}

/** After a read that the store did not answer, what was read last counts for so long before the store is asked again. */
const AWAY_MS = 5_000;

/**
 * Reads of a store that may be away: then what it said last counts, so that what runs already goes on by the rules it began
 * under. What was never read is not made up: its read fails as the store's does.
 */
export class StaleIfErrorCache<T> {
  readonly #read: (id: string) => Promise<T>;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #most: number;
  readonly #said = new Map<string, T>();
  #awaySince: number | null = null;

  constructor(parts: {
    readonly read: (id: string) => Promise<T>;
    readonly clock: Pick<Clock, 'now'>;
    readonly most: number;
  }) {
    this.#read = parts.read;
    this.#clock = parts.clock;
    this.#most = parts.most;
  }

  async read(id: string): Promise<T> {
    const known = this.#said.get(id);
    if (known !== undefined && this.#isAway()) return known;
    try {
      const said = await this.#read(id);
      this.#awaySince = null;
      this.#keep(id, said);
      return said;
    } catch (error) {
      if (known === undefined || !(error instanceof SvcError) || error.code !== 'unavailable') throw error;
      this.#awaySince = this.#clock.now();
      return known;
    }
  }

  /** It was changed here: what it was before counts no more. */
  forget(id: string): void {
    this.#said.delete(id);
  }

  #isAway(): boolean {
    const now = this.#clock.now();
    return this.#awaySince !== null && now >= this.#awaySince && now - this.#awaySince < AWAY_MS;
  }

  #keep(id: string, said: T): void {
    this.#said.delete(id);
    this.#said.set(id, said);
    const [oldest] = this.#said.keys();
    if (oldest !== undefined && this.#said.size > this.#most) this.#said.delete(oldest);
  }
}
