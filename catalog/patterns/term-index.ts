import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { PatternRecord, TermRecord } from './pattern-record.ts';
import { termsOf } from './terms.ts';

/** Patterns that one term remembers: the last ones that were stored. */
export const PATTERNS_OF_TERM = 128;
/** A race lost this often in a row is reported, not waited for. */
const MAX_ATTEMPTS = 50;

/** Finds patterns by words of their signature. */
export interface PatternIndex {
  /** Ids of patterns that share terms with the signature, those that share most of what few have first. */
  candidates(tenant: string, words: readonly string[]): Promise<readonly string[]>;
  /** Makes a pattern findable by all of its terms; where it is already, nothing is written. */
  add(pattern: Pick<PatternRecord, 'tenant' | 'id' | 'words'>): Promise<void>;
}

/**
 * One document a term with a bounded list of patterns, read by its id alone: that is an index in every store, also where
 * a query scans (FerretDB 1). A term that thousands have remembers the newest; they are found by their rarer terms, and
 * by the whole signature (decision 0018).
 */
export function createTermIndex(terms: Collection<TermRecord>): PatternIndex {
  return {
    async candidates(tenant, words) {
      const shared = new Map<string, number>();
      const found = await Promise.all(
        termsOf(words).map(async ({ key, says }) => ({ says, ids: (await terms.get(tenant, key))?.pattern_ids ?? [] })),
      );
      for (const { says, ids } of found) {
        const share = says / Math.sqrt(ids.length);
        for (const id of ids) shared.set(id, (shared.get(id) ?? 0) + share);
      }
      return [...shared].sort(([, some], [, other]) => other - some).map(([id]) => id);
    },
    async add({ tenant, id, words }) {
      await Promise.all(termsOf(words).map(({ key }) => remember(terms, { tenant, key, id })));
    },
  };
}

async function remember(
  terms: Collection<TermRecord>,
  { tenant, key, id }: { readonly tenant: string; readonly key: string; readonly id: string },
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const term = await terms.get(tenant, key);
    if (term?.pattern_ids.includes(id) === true) return;
    const pattern_ids = [id, ...(term?.pattern_ids ?? [])].slice(0, PATTERNS_OF_TERM);
    const next = { tenant, id: key, version: (term?.version ?? 0) + 1, pattern_ids };
    if (term === null ? await terms.insert(next) : await terms.replace(next, term.version)) return;
  }
  throw new SvcError('unavailable', 'too many patterns are being stored at once');
}
