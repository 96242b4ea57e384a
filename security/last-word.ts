import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';

/** After a read that the store did not answer, what was read last counts for so long before the store is asked again. */
const AWAY_MS = 5_000;

/**
 * Reads of a store that may be away: then what it said last counts, so that what runs already goes on by the rules it began
 * under. What was never read is not made up: its read fails as the store's does.
 */
export class LastWord<T> {
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
