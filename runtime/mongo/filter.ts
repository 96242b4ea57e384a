import type { Filter, Sort } from 'mongodb';
import { type Comparison, checkFind, comparisons } from '../documents/document-query.ts';
import type { Find, Query } from '../documents.ts';
import { keyOf, type Row } from './row.ts';

/** Values only ever stand behind an operator written here, so none can be one. */
function condition(comparison: Comparison): Filter<Row> {
  const { field } = comparison;
  if (comparison.kind === 'equal') return { [field]: { $eq: comparison.value } };
  if (comparison.kind === 'in') return { [field]: { $in: [...comparison.values] } };
  return { [field]: { [`$${comparison.operator}`]: comparison.value } };
}

/** A range of ids said as one of keys too: in a tenant that is the same, and there is an index on keys. */
function keyRange(tenant: string, query: Query): Filter<Row>[] {
  const ranges = comparisons(query).flatMap((comparison): Filter<Row>[] =>
    comparison.kind === 'range' && comparison.field === 'id' && typeof comparison.value === 'string'
      ? [{ _id: { [`$${comparison.operator}`]: keyOf(tenant, comparison.value) } }]
      : [],
  );
  return ranges.length === 0 ? [] : [...ranges, { _id: { $gte: keyOf(tenant, ''), $lt: `${tenant}0` } }];
}

export function filterOf(query: Query): Filter<Row> {
  const parts = comparisons(query).map(condition);
  if (query.tenant !== null) parts.unshift({ tenant: { $eq: query.tenant } }, ...keyRange(query.tenant, query));
  return parts.length === 0 ? {} : { $and: parts };
}

/**
 * The id ends every order, in the last field's direction: paging is stable, and the index serves both directions. In one
 * tenant the order of ids is that of `_id`, which the indexes hold; nothing behind it decides.
 */
export function sortOf(find: Find): Sort {
  checkFind(find);
  const { tenant, sort = [] } = find;
  const terms: [string, 1 | -1][] = [];
  for (const [field, order] of sort) {
    const isKey = field === 'id' && tenant !== null;
    terms.push([isKey ? '_id' : field, order === 'asc' ? 1 : -1]);
    if (isKey) return terms;
  }
  return [...terms, ['_id', terms.at(-1)?.[1] ?? 1]];
}
