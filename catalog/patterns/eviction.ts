import type { Collection } from '../../runtime/documents.ts';
import type { PatternRecord } from './pattern-record.ts';
import type { PatternIndex } from './term-index.ts';

/** Maximum number of patterns deleted in one step, since a store waits for it. */
const MOST_AT_ONCE = 100;

/**
 * Keeps a tenant within its bound by deleting its weakest patterns, 1 % of the bound (at most 100) at a time, since finding
 * them may read all of them. A node recounts after as many inserts, so each node can exceed the bound by that number.
 */
export class PatternEviction {
  readonly #patterns: Collection<PatternRecord>;
  readonly #index: Pick<PatternIndex, 'remove'>;
  readonly #most: number;
  readonly #step: number;
  /** Number of patterns by tenant, the most recently counted last. */
  readonly #counts = new Map<string, { count: number; sinceCounted: number }>();

  constructor(patterns: Collection<PatternRecord>, index: Pick<PatternIndex, 'remove'>, most: number) {
    this.#patterns = patterns;
    this.#index = index;
    this.#most = most;
    this.#step = Math.min(MOST_AT_ONCE, Math.max(1, Math.floor(most / 100)));
  }

  /** Call it before an insert. */
  async makeRoom(tenant: string): Promise<void> {
    for (;;) {
      const over = (await this.#count(tenant)) + 1 - this.#most;
      if (over <= 0) return;
      const limit = Math.min(MOST_AT_ONCE, over + this.#step - 1);
      const weakest = await this.#patterns.find({ tenant, sort: [['strength', 'asc']], limit });
      for (const pattern of weakest) {
        await this.#patterns.delete(tenant, pattern.id);
        await this.#index.remove(pattern);
      }
      this.#counts.delete(tenant);
      if (weakest.length < limit) return;
    }
  }

  inserted(tenant: string): void {
    const known = this.#counts.get(tenant);
    if (known === undefined) return;
    known.count += 1;
    known.sinceCounted += 1;
  }

  async #count(tenant: string): Promise<number> {
    const known = this.#counts.get(tenant);
    const isFresh = known !== undefined && known.sinceCounted < this.#step && known.count < this.#most;
    if (isFresh) return known.count;
    const count = await this.#patterns.count({ tenant });
    this.#counts.delete(tenant);
    this.#counts.set(tenant, { count, sinceCounted: 0 });
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > 10_000 && oldest !== undefined) this.#counts.delete(oldest);
    return count;
  }
}
