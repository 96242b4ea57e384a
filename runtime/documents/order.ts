import type { Find, Position, Scalar, StoredDocument } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { isScalar } from './document-query.ts';

/**
 * The order of a find, and what lies behind a position in it. Every adapter orders by these terms and reads these
 * ranges, so a page begins where the one before it ended, whatever was written in between.
 */
export type Term = readonly [field: string, order: 'asc' | 'desc'];

/** Stands for `tenant/id` in an order over all tenants. No document can be asked for a field of this name. */
export const WHOLE_KEY = '_id';

/** One condition of a range. To an order, what is missing is null, and null comes before everything. */
export type Bound =
  | { readonly kind: 'same'; readonly field: string; readonly value: Scalar }
  | { readonly kind: 'beyond'; readonly field: string; readonly order: 'asc' | 'desc'; readonly value: Scalar }
  | { readonly kind: 'present'; readonly field: string };

/** The id ends every order, in the last field's direction: no two documents stand in one place. */
export function termsOf({ tenant, sort = [] }: Pick<Find, 'tenant' | 'sort'>): readonly Term[] {
  const id = tenant === null ? -1 : sort.findIndex(([field]) => field === 'id');
  if (id >= 0) return sort.slice(0, id + 1);
  return [...sort, [tenant === null ? WHOLE_KEY : 'id', sort.at(-1)?.[1] ?? 'asc']];
}

/** Where a document stands in the order of a find; the next page is what comes `after` the last one's. */
export function positionOf(find: Pick<Find, 'tenant' | 'sort'>, doc: StoredDocument): Position {
  const values = new Map<string, unknown>(Object.entries(doc)).set(WHOLE_KEY, `${doc.tenant}/${doc.id}`);
  return termsOf(find).map(([field]) => {
    const value = values.get(field);
    return isScalar(value) ? value : null;
  });
}

/**
 * What comes behind the position, as ranges that share no document, in the order in which they follow: each is an equal
 * beginning and one bound, which an index answers without reading what was passed. One range without bounds when there
 * is no position. Throws `invalid_argument` for what is no position of this order.
 */
export function rangesOf(find: Find): readonly (readonly Bound[])[] {
  const { after } = find;
  if (after === undefined) return [[]];
  const terms = termsOf(find);
  if (!Array.isArray(after) || after.length !== terms.length || !after.every(isScalar)) {
    const text = 'after must hold one scalar for each field of the order, the id included';
    throw new SvcError('invalid_argument', text, { field: 'after' });
  }
  const places = terms.map(([field, order], at) => ({ field, order, value: after[at] ?? null }));
  const ranges: Bound[][] = [];
  for (const [at, { field, order, value }] of [...places.entries()].reverse()) {
    const beginning = places.slice(0, at).map((place): Bound => ({ kind: 'same', ...place }));
    if (value !== null) ranges.push([...beginning, { kind: 'beyond', field, order, value }]);
    else if (order === 'asc') ranges.push([...beginning, { kind: 'present', field }]);
    if (value !== null && order === 'desc' && !ALWAYS_THERE.has(field))
      ranges.push([...beginning, { kind: 'same', field, value: null }]);
  }
  return ranges;
}

const ALWAYS_THERE = new Set(['tenant', 'id', 'version', WHOLE_KEY]);
