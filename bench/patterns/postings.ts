import { type PatternIndex, termsOf } from '../../catalog/patterns/term-index.ts';
import type { Collection, CollectionSpec, StoredDocument } from '../../runtime/documents.ts';

/** The rejected design (decision 0018): a document for each term of each pattern, under an index. */
export interface Posting extends StoredDocument {
  readonly term: string;
  readonly pattern_id: string;
  readonly stored: number;
}
export const POSTINGS: CollectionSpec = { name: 'bench_postings', unique: [], indexes: [['term', 'stored']] };
const MOST_OF_TERM = 128;

export const postingsOf = (
  pattern: { tenant: string; id: string; words: readonly string[] },
  stored: number,
): Posting[] =>
  termsOf(pattern.words).map(({ bucket }) => ({
    tenant: pattern.tenant,
    id: `${bucket}/${pattern.id}`,
    version: 1,
    term: bucket,
    pattern_id: pattern.id,
    stored,
  }));

export function createPostings(postings: Collection<Posting>): PatternIndex {
  return {
    async candidates(tenant, words) {
      const shared = new Map<string, number>();
      const sort = [['stored', 'desc']] as const;
      const found = await Promise.all(
        termsOf(words).map(async ({ bucket, weight }) => ({
          weight,
          rows: await postings.find({ tenant, where: { term: bucket }, sort, limit: MOST_OF_TERM }),
        })),
      );
      for (const { weight, rows } of found) {
        const share = weight / Math.sqrt(rows.length);
        for (const { pattern_id } of rows) shared.set(pattern_id, (shared.get(pattern_id) ?? 0) + share);
      }
      return [...shared].sort(([, some], [, other]) => other - some).map(([id]) => id);
    },
    add: (pattern) => postings.putMany(postingsOf(pattern, Date.now())),
    remove: async (pattern) => {
      for (const { tenant, id } of postingsOf(pattern, 0)) await postings.delete(tenant, id);
    },
  };
}
