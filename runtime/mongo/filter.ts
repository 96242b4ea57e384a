import type { Filter, Sort } from 'mongodb';
import { type Comparison, checkFind, comparisons } from '../documents/document-query.ts';
import type { Find, Query } from '../documents.ts';
import type { Row } from './row.ts';

/** Values only ever stand behind an operator written here, so none can be one. */
function condition(comparison: Comparison): Filter<Row> {
  const { field } = comparison;
  if (comparison.kind === 'equal') return { [field]: { $eq: comparison.value } };
  if (comparison.kind === 'in') return { [field]: { $in: [...comparison.values] } };
  return { [field]: { [`$${comparison.operator}`]: comparison.value } };
}

export function filterOf(query: Query): Filter<Row> {
  const parts = comparisons(query).map(condition);
  if (query.tenant !== null) parts.unshift({ tenant: { $eq: query.tenant } });
  return parts.length === 0 ? {} : { $and: parts };
}

/** The id ends every order, in the last field's direction: paging is stable, and the index serves both directions. */
export function sortOf(find: Find): Sort {
  checkFind(find);
  const terms = (find.sort ?? []).map(([field, order]): [string, 1 | -1] => [field, order === 'asc' ? 1 : -1]);
  return [...terms, ['_id', terms.at(-1)?.[1] ?? 1]];
}
