import { createHash } from 'node:crypto';
import type { Collection, CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';

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
export class PatternEviction {
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

/** Patterns that one place remembers: the last ones that were stored. */
export const PATTERNS_OF_TERM = 128;

/** A race lost this often in a row is reported, not waited for. */
const MAX_ATTEMPTS = 50;

type Indexed = Pick<PatternRecord, 'tenant' | 'id' | 'words'>;

/** Finds patterns by words of their signature. */
export interface PatternIndex {
  /** Ids of patterns that share terms with the signature, those that share most of what few have first. */
  candidates(tenant: string, words: readonly string[]): Promise<readonly string[]>;
  /** Makes a pattern findable by all of its terms; where it is already, nothing is written. */
  add(pattern: Indexed): Promise<void>;
  /** Of a deleted pattern. What stays behind after a crash leads nowhere. */
  remove(pattern: Indexed): Promise<void>;
}

/**
 * One document a place with a bounded list of patterns, read by its id: twenty reads of one row, however many patterns
 * there are. A term that thousands have remembers the newest; they are found by their rarer terms, and by the whole
 * signature (decision 0018).
 */
export function createTermIndex(terms: Collection<TermRecord>): PatternIndex {
  return {
    async candidates(tenant, words) {
      const shared = new Map<string, number>();
      const found = await Promise.all(
        termsOf(words).map(async ({ place, says }) => ({
          says,
          ids: (await terms.get(tenant, place))?.pattern_ids ?? [],
        })),
      );
      for (const { says, ids } of found) {
        const share = says / Math.sqrt(ids.length);
        for (const id of ids) shared.set(id, (shared.get(id) ?? 0) + share);
      }
      return [...shared].sort(([, some], [, other]) => other - some).map(([id]) => id);
    },
    add: (pattern) =>
      inAll(terms, pattern, (ids) =>
        ids.includes(pattern.id) ? null : [pattern.id, ...ids].slice(0, PATTERNS_OF_TERM),
      ),
    remove: (pattern) =>
      inAll(terms, pattern, (ids) => (ids.includes(pattern.id) ? ids.filter((id) => id !== pattern.id) : null)),
  };
}

/** Null leaves a place as it is. */
type Change = (ids: readonly string[]) => readonly string[] | null;

async function inAll(terms: Collection<TermRecord>, { tenant, words }: Indexed, change: Change): Promise<void> {
  await Promise.all(termsOf(words).map(({ place }) => inOne(terms, { tenant, place }, change)));
}

async function inOne(
  terms: Collection<TermRecord>,
  { tenant, place }: { readonly tenant: string; readonly place: string },
  change: Change,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const term = await terms.get(tenant, place);
    const pattern_ids = change(term?.pattern_ids ?? []);
    if (pattern_ids === null) return;
    const next = { tenant, id: place, version: (term?.version ?? 0) + 1, pattern_ids };
    if (term === null ? await terms.insert(next) : await terms.replace(next, term.version)) return;
  }
  throw new SvcError('unavailable', 'too many patterns are being stored at once');
}

/** A term of a signature, by which patterns are found. */
interface Term {
  /** Of 2^20 places a tenant has; terms that share one by chance are told apart when patterns are compared. */
  readonly place: string;
  /** How much it says when few have it. */
  readonly says: number;
}

/** Of the terms: a word and a pair say one thing, the whole signature says all. */
const WHOLE_SAYS = 8;

const PLACE_DIGITS = 5;

/** Words, pairs of neighbours, and the whole: at most 48 of the 24 words that a signature is cut to. */
export function termsOf(words: readonly string[]): readonly Term[] {
  const says = new Map<string, number>([[placeOf('whole', words.join(' ')), WHOLE_SAYS]]);
  const add = (place: string): void => {
    if (!says.has(place)) says.set(place, 1);
  };
  for (const [at, word] of words.entries()) {
    add(placeOf('word', word));
    const next = words[at + 1];
    if (next !== undefined) add(placeOf('pair', `${word} ${next}`));
  }
  return [...says].map(([place, weight]) => ({ place, says: weight }));
}

const placeOf = (kind: 'whole' | 'word' | 'pair', text: string): string =>
  createHash('sha256').update(`${kind} ${text}`).digest('hex').slice(0, PLACE_DIGITS);
