import { createHash } from 'node:crypto';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { PatternRecord, TermRecord } from './pattern-record.ts';

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
