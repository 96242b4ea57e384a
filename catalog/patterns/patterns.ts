import type { NodeCortex } from '../../manifests/node/models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Page, pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { OneAtATimePerKey } from '../../runtime/kit/queues.ts';
import type {
  LearnedPattern,
  NewPattern,
  PatternPage,
  PatternQuery,
  Patterns,
  StoredPattern,
} from '../patterns-api.ts';
import { PatternEviction } from './eviction.ts';
import { errorWords, typeKey } from './normalisation.ts';
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
/** Lost compare-and-sets in a row before the call fails. */
const MAX_ATTEMPTS = 100;

export interface PatternParts {
  readonly documents: Documents;
  readonly clock: Clock;
  /** `spec.cortex` */
  readonly settings: Pick<NodeCortex, 'enabled' | 'patterns'>;
}

/** Learned patterns over a document store (see ../patterns-api.ts for what each call promises). */
export async function createPatterns({ documents, clock, settings }: PatternParts): Promise<Patterns> {
  if (!settings.enabled) return SWITCHED_OFF;
  const patterns = await documents.collection<PatternRecord>(PATTERNS);
  const index = createTermIndex(await documents.collection<TermRecord>(PATTERN_TERMS));
  return new StoredPatterns({
    patterns,
    index,
    eviction: new PatternEviction(patterns, index, settings.patterns.max_per_tenant),
    decay: halfLife(settings.patterns.half_life_days),
    threshold: settings.patterns.dedup_threshold,
    clock,
  });
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
  readonly clock: Clock;
}

interface Sought {
  readonly errorType: string | undefined;
  /** Maximum number of patterns. */
  readonly most: number;
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
    const similarityOf = similarityTo(words);
    return (
      await this.#candidates(tenant, words, { errorType: query.errorType, most: Math.max(2 * limit, COMPARED.query) })
    )
      .map((record) => ({ similarity: similarityOf(record.words), success: decay.success(record, nowMs), record }))
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
    // One store at a time on this node, so that equivalent patterns in other words find each other. Between nodes only
    // compare-and-set applies, which suffices for equal normal forms.
    return this.#turns.run(tenant, () => this.#store(tenant, fresh, options.once));
  }

  async #store(tenant: string, fresh: Given, once: string | undefined): Promise<StoredPattern> {
    const { patterns, index, eviction, decay, clock } = this.#parts;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = (await patterns.get(tenant, fresh.id)) ?? (await this.#mostSimilar(tenant, fresh, once));
      const use = { nowMs: clock.now(), decay, once };
      if (known === null) {
        const record = newRecord(tenant, fresh, use);
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
  async #mostSimilar(tenant: string, fresh: Given, once: string | undefined): Promise<PatternRecord | null> {
    const { signature, type } = fresh.form;
    let best: { similarity: number; record: PatternRecord } | null = null;
    for (const record of await this.#candidates(tenant, signature, { errorType: type, most: COMPARED.store })) {
      if (countedBefore(record, once) !== undefined) return record;
      const similarity = similarityOfStored(fresh, record, this.#parts.threshold);
      if (similarity >= this.#parts.threshold && similarity > (best?.similarity ?? -1)) best = { similarity, record };
    }
    return best?.record ?? null;
  }

  /** Patterns that share words with a signature, read in rounds until enough of the type are found. */
  async #candidates(tenant: string, words: readonly string[], { errorType, most }: Sought): Promise<PatternRecord[]> {
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
