import type { Clock } from '../runtime/clock.ts';

interface Look<T> {
  readonly startedAt: number;
  readonly found: Promise<T>;
}

/**
 * What was read a moment ago, for what every call asks. It counts as fresh from before the store was asked, so what
 * changed on another node is seen here after `freshMs` at the latest. Of one id at most one read is under way.
 */
export class BriefMemory<T> {
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
