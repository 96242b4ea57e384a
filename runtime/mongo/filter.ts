import type { Filter, Sort } from 'mongodb';
import { type Comparison, comparisons } from '../documents/document-query.ts';
import { type Bound, termsOf } from '../documents/order.ts';
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

export function filterOf(query: Query, range: readonly Bound[] = []): Filter<Row> {
  const { tenant } = query;
  const parts = [...comparisons(query).map(condition), ...range.map((one) => bound(tenant, one))];
  if (tenant !== null) parts.unshift({ tenant: { $eq: tenant } }, ...keyRange(tenant, query));
  return parts.length === 0 ? {} : { $and: parts };
}

/** Null is what is missing too, in a condition and in an order alike. */
function bound(tenant: string | null, one: Bound): Filter<Row> {
  const isKey = one.field === 'id' && tenant !== null;
  const place = isKey ? '_id' : one.field;
  if (one.kind === 'present') return { [place]: { $ne: null } };
  const value = isKey ? keyOf(tenant, String(one.value)) : one.value;
  if (one.kind === 'same') return { [place]: { $eq: value } };
  return { [place]: { [one.order === 'asc' ? '$gt' : '$lt']: value } };
}

/** In one tenant the order of ids is that of `_id`, which the indexes hold. */
export function sortOf(find: Find): Sort {
  const isKey = (field: string): boolean => field === 'id' && find.tenant !== null;
  return termsOf(find).map(([field, order]): [string, 1 | -1] => [
    isKey(field) ? '_id' : field,
    order === 'asc' ? 1 : -1,
  ]);
}
