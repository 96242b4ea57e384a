import { createHash } from 'node:crypto';
import type { Collection, CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { PatternRecord } from './pattern-record.ts';

/** Patterns whose signatures contain a term; `id` is the term's bucket. Bounded, most recently stored first. */
export interface TermRecord extends StoredDocument {
  readonly pattern_ids: readonly string[];
}

export const PATTERN_TERMS: CollectionSpec = { name: 'learned_pattern_terms', unique: [], indexes: [] };

/** Maximum number of patterns in a bucket. */
export const PATTERNS_OF_TERM = 128;

/** Lost compare-and-sets in a row before the call fails. */
const MAX_ATTEMPTS = 50;

type Indexed = Pick<PatternRecord, 'tenant' | 'id' | 'words'>;

/** Inverted index: finds patterns by words of their signature. */
export interface PatternIndex {
  /** Ids of patterns that share terms with the signature; those that share most and rarest terms first. */
  candidates(tenant: string, words: readonly string[]): Promise<readonly string[]>;
  /** Adds a pattern under all of its terms; writes only what is missing. */
  add(pattern: Indexed): Promise<void>;
  /** Removes a deleted pattern. Entries left by a crash are harmless. */
  remove(pattern: Indexed): Promise<void>;
}

/**
 * One document for each bucket with a bounded list of patterns: about twenty reads by id for a query, independent of the
 * number of patterns. A frequent term keeps the newest patterns only; the others are found by rarer terms and by the whole
 * signature (decision 0018).
 */
export function createTermIndex(terms: Collection<TermRecord>): PatternIndex {
  return {
    async candidates(tenant, words) {
      const shared = new Map<string, number>();
      const found = await Promise.all(
        termsOf(words).map(async ({ bucket, weight }) => ({
          weight,
          ids: (await terms.get(tenant, bucket))?.pattern_ids ?? [],
        })),
      );
      for (const { weight, ids } of found) {
        const share = weight / Math.sqrt(ids.length);
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

/** Null: no change. */
type Change = (ids: readonly string[]) => readonly string[] | null;

async function inAll(terms: Collection<TermRecord>, { tenant, words }: Indexed, change: Change): Promise<void> {
  await Promise.all(termsOf(words).map(({ bucket }) => inOne(terms, { tenant, bucket }, change)));
}

async function inOne(
  terms: Collection<TermRecord>,
  { tenant, bucket }: { readonly tenant: string; readonly bucket: string },
  change: Change,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const term = await terms.get(tenant, bucket);
    const pattern_ids = change(term?.pattern_ids ?? []);
    if (pattern_ids === null) return;
    const next = { tenant, id: bucket, version: (term?.version ?? 0) + 1, pattern_ids };
    if (term === null ? await terms.insert(next) : await terms.replace(next, term.version)) return;
  }
  throw new SvcError('unavailable', 'too many patterns are being stored; try again');
}

/** A term of a signature. */
interface Term {
  /** One of 2^20 of a tenant; terms that collide are separated when patterns are compared. */
  readonly bucket: string;
  /** Weight of the term. */
  readonly weight: number;
}

/** Weight of the whole signature; words and pairs weigh 1. */
const WHOLE_WEIGHT = 8;

const BUCKET_DIGITS = 5;

/** Words, pairs of neighbours and the whole signature: at most 48 terms, since a signature is cut to 24 words. */
export function termsOf(words: readonly string[]): readonly Term[] {
  const weight = new Map<string, number>([[bucketOf('whole', words.join(' ')), WHOLE_WEIGHT]]);
  const add = (bucket: string): void => {
    if (!weight.has(bucket)) weight.set(bucket, 1);
  };
  for (const [at, word] of words.entries()) {
    add(bucketOf('word', word));
    const next = words[at + 1];
    if (next !== undefined) add(bucketOf('pair', `${word} ${next}`));
  }
  return [...weight].map(([bucket, weight]) => ({ bucket, weight: weight }));
}

const bucketOf = (kind: 'whole' | 'word' | 'pair', text: string): string =>
  createHash('sha256').update(`${kind} ${text}`).digest('hex').slice(0, BUCKET_DIGITS);
