import type { Collection, CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { PatternIndex } from './term-index.ts';

/** Keys of stores that counted already, newest first, and the frequency each made. */
interface CountedOnce {
  readonly key: string;
  readonly frequency: number;
}

/**
 * One pattern. Its id is made of its normal form (pattern-rules.ts), so those who store the same text at the same time
 * write one document, and a compare-and-set on it counts them all.
 */
export interface PatternRecord extends StoredDocument {
  readonly error_signature: string;
  readonly error_type: string;
  /** The type as it is compared. */
  readonly error_type_key: string;
  readonly error_message: string;
  readonly solution_approach: string;
  readonly solution_code: string | null;
  readonly tags: readonly string[];
  /** Normal form of the signature, which every query compares. */
  readonly words: readonly string[];
  readonly frequency: number;
  /** One a store, halved by each half life since: as it was at `last_used_ms`. */
  readonly weight: number;
  readonly created_ms: number;
  readonly last_used_ms: number;
  /** Orders by decayed weight whatever the time is (decay.ts). */
  readonly strength: number;
  readonly once: readonly CountedOnce[];
}

/** Patterns whose signatures hold a term; `id` is its place (terms.ts). Bounded: those stored last come first. */
export interface TermRecord extends StoredDocument {
  readonly pattern_ids: readonly string[];
}

export const PATTERNS: CollectionSpec = {
  name: 'learned_patterns',
  unique: [],
  indexes: [['strength'], ['error_type_key', 'strength']],
};

export const PATTERN_TERMS: CollectionSpec = { name: 'learned_pattern_terms', unique: [], indexes: [] };

const MS_PER_DAY = 86_400_000;

type Used = Pick<PatternRecord, 'weight' | 'last_used_ms'>;

/** How patterns fade: after each half life without use they count half. All is computed from the time given. */
export interface Decay {
  /** Of a weight that was so at its last use. */
  weight(used: Used, nowMs: number): number;
  /**
   * Grows with the decayed weight of any moment: log2(weight · 2^(−(now − last) / half life)) is this minus now / half
   * life, which is the same for all.
   */
  strength(used: Used): number;
  /** 0 to 1: the share of its uses that succeeded, by the rule of succession, decayed since the last. */
  success(record: Pick<PatternRecord, 'frequency' | 'last_used_ms'>, nowMs: number): number;
}

export function halfLife(days: number): Decay {
  const halfLifeMs = days * MS_PER_DAY;
  // A clock that runs behind makes nothing younger than new.
  const left = (lastMs: number, nowMs: number): number => 2 ** -(Math.max(0, nowMs - lastMs) / halfLifeMs);
  return {
    weight: ({ weight, last_used_ms }, nowMs) => weight * left(last_used_ms, nowMs),
    strength: ({ weight, last_used_ms }) => Math.log2(weight) + last_used_ms / halfLifeMs,
    success: ({ frequency, last_used_ms }, nowMs) => ((frequency + 1) / (frequency + 2)) * left(last_used_ms, nowMs),
  };
}

/** Patterns that are deleted with one look at the store: whoever stores waits for it. */
const MOST_AT_ONCE = 100;

/**
 * Keeps a tenant within its bound: beyond it the weakest go, a hundredth (at most 100) at a time, since finding them may
 * read all. A node counts anew after as many inserts, so nodes together go over the bound by as many each.
 */
export class PatternRoom {
  readonly #patterns: Collection<PatternRecord>;
  readonly #index: Pick<PatternIndex, 'remove'>;
  readonly #most: number;
  readonly #step: number;
  /** By tenant, the ones looked at last at the end. */
  readonly #counts = new Map<string, { count: number; sinceCounted: number }>();

  constructor(patterns: Collection<PatternRecord>, index: Pick<PatternIndex, 'remove'>, most: number) {
    this.#patterns = patterns;
    this.#index = index;
    this.#most = most;
    this.#step = Math.min(MOST_AT_ONCE, Math.max(1, Math.floor(most / 100)));
  }

  /** Before an insert: afterwards there is a place. */
  async make(tenant: string): Promise<void> {
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
