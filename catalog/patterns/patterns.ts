import type { NodeCortex } from '../../manifests/node/models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Page, pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { BoundedCache } from '../../runtime/kit/bounded-cache.ts';
import { OneAtATimePerKey } from '../../runtime/kit/queues.ts';
import type { Embeddings } from '../api.ts';
import type {
  LearnedPattern,
  NewPattern,
  PatternPage,
  PatternQuery,
  Patterns,
  StoredPattern,
} from '../patterns-api.ts';
import { EmbeddingsBreaker } from '../search/entry-vectors.ts';
import { errorWords, typeKey } from './normalisation.ts';
import { type Meaning, PatternMeaning } from './pattern-meaning.ts';
import { type Decay, halfLife, PATTERNS, type PatternRecord } from './pattern-record.ts';
import {
  checkPattern,
  checkPatternPage,
  checkQuery,
  countedBefore,
  type Given,
  given,
  learned,
  newRecord,
  reinforced,
  similarityOfStored,
} from './pattern-rules.ts';
import { similarityTo } from './similarity.ts';
import { createTermIndex, PATTERN_TERMS, type PatternIndex, type TermRecord } from './term-index.ts';

/** Number of candidates compared; the most similar are among the first. A query compares twice the number it returns. */
const COMPARED = { store: 64, query: 32 } as const;
/** Maximum number of candidates read, including those of other types and evicted ones. */
const MOST_READ = 512;
/** Patterns that are compared by meaning, beside those that share words. */
const MOST_MEANT = 256;
/** Lost compare-and-sets in a row before the call fails. */
const MAX_ATTEMPTS = 100;

interface PatternParts {
  readonly documents: Documents;
  readonly clock: Clock;
  /** `spec.cortex` */
  readonly settings: Pick<NodeCortex, 'enabled' | 'patterns' | 'embeddings'>;
  /** The model of `spec.cortex.embeddings`. Absent: patterns are compared by words alone. */
  readonly embeddings?: Embeddings;
  /** Default: nothing is logged. */
  readonly warn?: (message: string, error: unknown) => void;
}

/** Learned patterns over a document store (see ../patterns-api.ts for what each call promises). */
export async function createPatterns(given: PatternParts): Promise<Patterns> {
  const { documents, clock, settings } = given;
  if (!settings.enabled) return SWITCHED_OFF;
  const patterns = await documents.collection<PatternRecord>(PATTERNS);
  const index = createTermIndex(await documents.collection<TermRecord>(PATTERN_TERMS));
  return new StoredPatterns({
    patterns,
    index,
    eviction: new PatternEviction(patterns, index, settings.patterns.max_per_tenant),
    decay: halfLife(settings.patterns.half_life_days),
    threshold: settings.patterns.dedup_threshold,
    meaning: meaningOf(given),
    clock,
  });
}

function meaningOf({ settings, embeddings, clock, warn = () => {} }: PatternParts): PatternMeaning | null {
  if (embeddings === undefined || settings.embeddings === undefined) return null;
  return new PatternMeaning(new EmbeddingsBreaker(embeddings, clock, warn), settings.embeddings);
}

const off = async (): Promise<never> => {
  throw new SvcError('cortex_not_configured');
};
const SWITCHED_OFF: Patterns = { query: off, store: off, list: off };

interface Parts {
  readonly patterns: Collection<PatternRecord>;
  readonly index: PatternIndex;
  readonly eviction: PatternEviction;
  readonly decay: Decay;
  readonly threshold: number;
  /** Null: words alone decide. */
  readonly meaning: PatternMeaning | null;
  readonly clock: Clock;
}

interface Sought {
  readonly errorType: string | undefined;
  /** Maximum number of patterns that share words. */
  readonly most: number;
  /** Null: words alone decide. */
  readonly meant: Meaning | null;
}

class StoredPatterns implements Patterns {
  readonly #parts: Parts;
  readonly #turns = new OneAtATimePerKey();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async query(tenant: string, query: PatternQuery): Promise<readonly LearnedPattern[]> {
    const { limit, minSimilarity, minSuccessScore, errorSignature } = checkQuery(query);
    const { decay, clock } = this.#parts;
    const nowMs = clock.now();
    const words = errorWords(errorSignature);
    const meant = (await this.#parts.meaning?.of(errorSignature)) ?? null;
    const sought = { errorType: query.errorType, most: Math.max(2 * limit, COMPARED.query), meant };
    const byWords = similarityTo(words);
    return (await this.#candidates(tenant, words, sought))
      .map((record) => {
        const similarity = Math.max(byWords(record.words), this.#byMeaning(meant, record));
        return { similarity, success: decay.success(record, nowMs), record };
      })
      .filter(({ similarity, success }) => similarity >= minSimilarity && success >= minSuccessScore)
      .sort((some, other) => other.similarity - some.similarity || other.success - some.success)
      .slice(0, limit)
      .map(({ record }) => learned(record, decay, nowMs));
  }

  async list(tenant: string, page: PatternPage): Promise<Page<LearnedPattern>> {
    checkPatternPage(page);
    const { patterns, decay, clock } = this.#parts;
    const { errorType } = page;
    const ofType = errorType === undefined ? {} : { where: { error_type_key: typeKey(errorType) } };
    const found = await pageOf(patterns, 'patterns', { tenant, ...ofType, sort: [['strength', 'desc']] }, page);
    const nowMs = clock.now();
    return shownPage(found, (record) => learned(record, decay, nowMs));
  }

  async store(tenant: string, pattern: NewPattern, options: { readonly once?: string } = {}): Promise<StoredPattern> {
    checkPattern(pattern, options.once);
    const fresh = given(pattern);
    const { errorSignature, errorMessage, solutionApproach, solutionCode = '' } = pattern;
    const texts = [`${errorSignature}\n${errorMessage}`, `${solutionApproach}\n${solutionCode}`] as const;
    const meant = (await this.#parts.meaning?.of(...texts)) ?? null;
    // One store at a time on this node, so that equivalent patterns in other words find each other. Between nodes only
    // compare-and-set applies, which suffices for equal normal forms.
    return this.#turns.run(tenant, () => this.#store(tenant, fresh, meant, options.once));
  }

  async #store(tenant: string, fresh: Given, meant: Meaning | null, once: string | undefined): Promise<StoredPattern> {
    const { patterns, index, eviction, decay, clock } = this.#parts;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = (await patterns.get(tenant, fresh.id)) ?? (await this.#mostSimilar(tenant, fresh, meant, once));
      const use = { nowMs: clock.now(), decay, once };
      if (known === null) {
        const vectors = meant === null ? undefined : this.#parts.meaning?.stored(meant);
        const record = { ...newRecord(tenant, fresh, use), ...(vectors === undefined ? {} : { vectors }) };
        await eviction.makeRoom(tenant);
        // The index first: a crash in between leaves terms without a pattern, never a pattern that cannot be found.
        await index.add(record);
        if (!(await patterns.insert(record))) continue;
        eviction.inserted(tenant);
        return { pattern_id: record.id, deduplicated: false, new_frequency: 1 };
      }
      const before = countedBefore(known, once);
      if (before !== undefined) return { pattern_id: known.id, deduplicated: before > 1, new_frequency: before };
      const next = reinforced(known, fresh, use);
      if (!(await patterns.replace(next, known.version))) continue;
      // Frequent terms may have dropped it.
      await index.add(next);
      return { pattern_id: next.id, deduplicated: true, new_frequency: next.frequency };
    }
    throw new SvcError('unavailable', 'too many concurrent stores of the same pattern; try again');
  }

  /** The equivalent pattern, if any; first of all the one of an earlier attempt of the same store. */
  async #mostSimilar(
    tenant: string,
    fresh: Given,
    meant: Meaning | null,
    once: string | undefined,
  ): Promise<PatternRecord | null> {
    const { signature, type } = fresh.form;
    let best: { similarity: number; record: PatternRecord } | null = null;
    for (const record of await this.#candidates(tenant, signature, { errorType: type, most: COMPARED.store, meant })) {
      if (countedBefore(record, once) !== undefined) return record;
      const byWords = similarityOfStored(fresh, record, this.#parts.threshold);
      const similarity = Math.max(byWords, this.#byMeaning(meant, record));
      if (similarity >= this.#parts.threshold && similarity > (best?.similarity ?? -1)) best = { similarity, record };
    }
    return best?.record ?? null;
  }

  #byMeaning(meant: Meaning | null, record: PatternRecord): number {
    return meant === null ? 0 : (this.#parts.meaning?.similarity(meant, record) ?? 0);
  }

  /** Patterns that share words with a signature, and, where meaning counts, the strongest ones whatever their words. */
  async #candidates(tenant: string, words: readonly string[], sought: Sought): Promise<PatternRecord[]> {
    const found = await this.#sharingWords(tenant, words, sought);
    if (sought.meant === null) return found;
    const { patterns } = this.#parts;
    const ofType = sought.errorType === undefined ? {} : { where: { error_type_key: typeKey(sought.errorType) } };
    const strongest = await patterns.find({ tenant, ...ofType, sort: [['strength', 'desc']], limit: MOST_MEANT });
    const known = new Set(found.map(({ id }) => id));
    return [...found, ...strongest.filter(({ id }) => !known.has(id))];
  }

  /** Read in rounds until enough of the type are found. */
  async #sharingWords(tenant: string, words: readonly string[], { errorType, most }: Sought): Promise<PatternRecord[]> {
    const { patterns, index } = this.#parts;
    const ids = (await index.candidates(tenant, words)).slice(0, MOST_READ);
    const type = errorType === undefined ? undefined : typeKey(errorType);
    const found: PatternRecord[] = [];
    for (let at = 0; at < ids.length && found.length < most; at += most) {
      const records = await Promise.all(ids.slice(at, at + most).map((id) => patterns.get(tenant, id)));
      for (const record of records) {
        if (record !== null && (type === undefined || record.error_type_key === type)) found.push(record);
      }
    }
    return found;
  }
}

/** Maximum number of patterns deleted in one step, since a store waits for it. */
const MOST_AT_ONCE = 100;

/**
 * Keeps a tenant within its bound by deleting its weakest patterns, 1 % of the bound (at most 100) at a time, since finding
 * them may read all of them. A node recounts after as many inserts, so each node can exceed the bound by that number.
 */
class PatternEviction {
  readonly #patterns: Collection<PatternRecord>;
  readonly #index: Pick<PatternIndex, 'remove'>;
  readonly #most: number;
  readonly #step: number;
  /** Number of patterns by tenant, the most recently counted last. */
  readonly #counts = new BoundedCache<string, { count: number; sinceCounted: number }>(10_000);

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
    this.#counts.put(tenant, { count, sinceCounted: 0 });
    return count;
  }
}
