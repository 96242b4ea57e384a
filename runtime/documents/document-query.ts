import type { CollectionSpec, Condition, Find, Position, Query, Scalar, StoredDocument } from '../documents.ts';
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

type RangeOperator = (typeof RANGE_OPERATORS)[number];

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

/**
 * How a document is laid out in a store. Its scalars with plain names can be searched and sorted, so they are kept as
 * `fields`; all else (objects, lists, names such as `$ref`) is kept as JSON text, which no store interprets. Both
 * adapters share this split, therefore they answer alike: to a query, what is not a scalar is null.
 */
interface StoredShape {
  readonly tenant: string;
  readonly id: string;
  readonly version: number;
  /** Searchable scalars without tenant, id and version. */
  readonly fields: Readonly<Record<string, Scalar>>;
  /** JSON object of the others. */
  readonly restJson: string;
}

const TENANT = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/;

const ID_LIMIT = 512;

/** Below MongoDB's 16 MiB a document, with room for its own encoding. */
const DOCUMENT_LIMIT_BYTES = 15 * 1024 * 1024;

/** Throws `invalid_argument` for a tenant or id that could not be told apart from another one in a key. */
export function checkKey(tenant: string, id: string): void {
  if (typeof tenant !== 'string' || !TENANT.test(tenant)) {
    throw new SvcError('invalid_argument', `tenant must match ${TENANT.source}`, { field: 'tenant' });
  }
  const fits = typeof id === 'string' && id.length > 0 && id.length <= ID_LIMIT && id.isWellFormed();
  if (!fits || id.includes('\0')) {
    throw new SvcError('invalid_argument', `id must be text of 1 to ${ID_LIMIT} characters`, { field: 'id' });
  }
}

/** JSON has no -0 and UTF-8 no lone surrogate. */
function plain(value: Scalar): Scalar {
  if (typeof value === 'string') return value.toWellFormed();
  return value === 0 ? 0 : value;
}

/** Takes a document apart; throws `invalid_argument` or `payload_too_large`. */
export function shapeOf(doc: StoredDocument): StoredShape {
  checkKey(doc.tenant, doc.id);
  if (!Number.isSafeInteger(doc.version) || doc.version < 0) {
    throw new SvcError('invalid_argument', 'version must be a whole number, 0 or more', { field: 'version' });
  }
  const fields: Record<string, Scalar> = {};
  const rest: [string, unknown][] = [];
  for (const [name, value] of Object.entries(doc)) {
    if (name === 'tenant' || name === 'id' || name === 'version' || value === undefined) continue;
    if (isQueryField(name) && isScalar(value)) fields[name] = plain(value);
    else rest.push([name, value]);
  }
  const restJson = JSON.stringify(Object.fromEntries(rest));
  const bytes = Buffer.byteLength(restJson) + Buffer.byteLength(JSON.stringify(fields));
  if (bytes > DOCUMENT_LIMIT_BYTES) {
    throw new SvcError('payload_too_large', `a document holds at most ${DOCUMENT_LIMIT_BYTES} bytes of JSON`);
  }
  return { tenant: doc.tenant, id: doc.id, version: doc.version, fields, restJson };
}

/** Puts a document together again. The caller's type is what it stored: a collection has one writer type. */
export function documentOf<T extends StoredDocument>(shape: StoredShape): T {
  const rest = JSON.parse(shape.restJson);
  return { tenant: shape.tenant, id: shape.id, version: shape.version, ...shape.fields, ...rest };
}

/**
 * The order of a find, and what lies behind a position in it. Every adapter orders by these terms and reads these
 * ranges, so a page begins where the one before it ended, whatever was written in between.
 */
type Term = readonly [field: string, order: 'asc' | 'desc'];

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
