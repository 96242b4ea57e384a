import type { CollectionSpec, Condition, Find, Query, Scalar } from '../documents.ts';
import { SvcError } from '../errors.ts';

/**
 * The checks every Documents adapter makes before it builds a statement, so that a bad query is refused with the same
 * words everywhere and nothing a caller sends can become part of one.
 */
const FIELD = /^[a-z_][a-z0-9_]{0,63}$/;
const COLLECTION = /^[a-z][a-z0-9_]{0,47}$/;

const FIND_LIMIT = 1_000;
const SKIP_LIMIT = 1_000_000;
const WHERE_FIELD_LIMIT = 32;
const IN_LIMIT = 1_000;
const SORT_FIELD_LIMIT = 8;
const RANGE_OPERATORS = ['gt', 'gte', 'lt', 'lte'] as const;

export type RangeOperator = (typeof RANGE_OPERATORS)[number];

/** A condition taken apart: exactly one shape per kind of comparison. */
export type Comparison =
  | { readonly field: string; readonly kind: 'equal'; readonly value: Scalar }
  | { readonly field: string; readonly kind: 'in'; readonly values: readonly Scalar[] }
  | {
      readonly field: string;
      readonly kind: 'range';
      readonly operator: RangeOperator;
      readonly value: number | string;
    };

const refuse = (field: string, message: string): never => {
  throw new SvcError('invalid_argument', message, { field });
};

/** True for a name that may be queried, sorted and indexed. `_id` belongs to MongoDB. */
export const isQueryField = (name: string): boolean => FIELD.test(name) && name !== '_id';

/** Throws `invalid_argument` for a name that cannot be asked for. */
export function checkField(name: string, where: string): void {
  if (!isQueryField(name)) refuse(where, `${where} names a field that does not match ${FIELD.source} or is _id`);
}

export function checkSpec(spec: CollectionSpec): void {
  if (!COLLECTION.test(spec.name)) refuse('name', `a collection's name must match ${COLLECTION.source}`);
  for (const tuple of [...spec.unique, ...spec.indexes]) {
    if (tuple.length === 0) refuse('indexes', 'an index names at least one field');
    for (const field of tuple) checkField(field, 'indexes');
  }
  for (const field of spec.beside ?? []) checkField(field, 'beside');
  if (spec.counted?.length === 0) refuse('counted', 'counted names at least one field');
  for (const field of spec.counted ?? []) checkField(field, 'counted');
}

export const isScalar = (value: unknown): value is Scalar =>
  value === null ||
  typeof value === 'string' ||
  typeof value === 'boolean' ||
  (typeof value === 'number' && Number.isFinite(value));

function comparisonsOf(field: string, condition: Condition): Comparison[] {
  if (isScalar(condition)) return [{ field, kind: 'equal', value: condition }];
  if (typeof condition !== 'object' || Array.isArray(condition)) {
    return refuse(field, `the condition on ${field} must be a scalar, { in } or a range`);
  }
  if ('in' in condition) {
    const values = condition.in;
    if (!Array.isArray(values) || values.length > IN_LIMIT || !values.every(isScalar)) {
      refuse(field, `in of ${field} must be a list of at most ${IN_LIMIT} scalars`);
    }
    return [{ field, kind: 'in', values }];
  }
  const ranges: Comparison[] = [];
  for (const operator of RANGE_OPERATORS) {
    const value = condition[operator];
    if (value === undefined) continue;
    if (typeof value !== 'string' && !(typeof value === 'number' && Number.isFinite(value))) {
      refuse(field, `${operator} of ${field} must be a number or a string`);
    }
    ranges.push({ field, kind: 'range', operator, value });
  }
  const known = ranges.length === Object.keys(condition).length;
  if (ranges.length === 0 || !known) refuse(field, `the condition on ${field} knows in, gt, gte, lt and lte only`);
  return ranges;
}

/** Checks a query and takes it apart; throws `invalid_argument` naming the field. */
export function comparisons(query: Query): Comparison[] {
  if (query.tenant !== null && (typeof query.tenant !== 'string' || query.tenant === '')) {
    refuse('tenant', 'tenant must be a tenant, or null for the upkeep of the node');
  }
  const where = Object.entries(query.where ?? {});
  if (where.length > WHERE_FIELD_LIMIT) refuse('where', `where holds at most ${WHERE_FIELD_LIMIT} fields`);
  return where.flatMap(([field, condition]) => {
    checkField(field, 'where');
    return comparisonsOf(field, condition);
  });
}

/** Checks the paging of a find; `where` is checked by `comparisons`. */
export function checkFind(find: Find): void {
  const { limit, skip = 0, sort = [], after } = find;
  if (!Number.isInteger(limit) || limit < 1 || limit > FIND_LIMIT) {
    refuse('limit', `limit must be a whole number from 1 to ${FIND_LIMIT}`);
  }
  if (!Number.isInteger(skip) || skip < 0 || skip > SKIP_LIMIT) {
    refuse('skip', `skip must be a whole number from 0 to ${SKIP_LIMIT}`);
  }
  if (sort.length > SORT_FIELD_LIMIT) refuse('sort', `sort holds at most ${SORT_FIELD_LIMIT} fields`);
  const seen = new Set<string>();
  for (const [field, order] of sort) {
    checkField(field, 'sort');
    if (order !== 'asc' && order !== 'desc') refuse('sort', `the order of ${field} must be asc or desc`);
    if (seen.has(field)) refuse('sort', `sort names ${field} twice`);
    seen.add(field);
  }
  if (after !== undefined && skip !== 0) refuse('skip', 'skip must be 0 beside a position');
}
