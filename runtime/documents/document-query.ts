import type { CollectionSpec, Condition, Find, Position, Query, Scalar, StoredDocument } from '../documents.ts';
import { SvcError } from '../errors.ts';

/**
 * Checks that every Documents adapter makes before it builds a statement, so that a bad query gets the same error
 * everywhere and no text from a caller becomes part of a statement.
 */
const FIELD = /^[a-z_][a-z0-9_]{0,63}$/;

const COLLECTION = /^[a-z][a-z0-9_]{0,47}$/;

export const FIND_LIMIT = 1_000;

const SKIP_LIMIT = 1_000_000;

const WHERE_FIELD_LIMIT = 32;

const IN_LIMIT = 1_000;

const SORT_FIELD_LIMIT = 8;

const RANGE_OPERATORS = ['gt', 'gte', 'lt', 'lte'] as const;

type RangeOperator = (typeof RANGE_OPERATORS)[number];

/** A parsed condition: one shape for each kind of comparison. */
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

/** Whether a field may be queried, sorted and indexed. `_id` belongs to MongoDB. */
export const isQueryField = (name: string): boolean => FIELD.test(name) && name !== '_id';

/** Throws `invalid_argument` for a field that cannot be queried. */
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
  if (ranges.length === 0 || !known) refuse(field, `the condition on ${field} supports in, gt, gte, lt and lte only`);
  return ranges;
}

/** Checks a query and parses its conditions. Throws `invalid_argument` naming the field. */
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

/** Checks the paging of a find. `comparisons` checks `where`. */
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
 * Layout of a document in a store. Scalars with plain names can be searched and sorted, so they are stored as `fields`.
 * Everything else (objects, lists, names such as `$ref`) is stored as JSON text, which no store interprets. Both
 * adapters use this split, so they give the same results: in a query, a value that is not a scalar is null.
 */
interface StoredShape {
  readonly tenant: string;
  readonly id: string;
  readonly version: number;
  /** Searchable scalars without tenant, id and version. */
  readonly fields: Readonly<Record<string, Scalar>>;
  /** JSON object with all other fields. */
  readonly restJson: string;
}

const TENANT = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/;

const ID_LIMIT = 512;

/** Most bytes of a document: below MongoDB's limit of 16 MiB, with room for its own encoding. */
const DOCUMENT_LIMIT_BYTES = 15 * 1024 * 1024;

/** Throws `invalid_argument` for a tenant or id that could make two keys equal. */
export function checkKey(tenant: string, id: string): void {
  if (typeof tenant !== 'string' || !TENANT.test(tenant)) {
    throw new SvcError('invalid_argument', `tenant must match ${TENANT.source}`, { field: 'tenant' });
  }
  const fits = typeof id === 'string' && id.length > 0 && id.length <= ID_LIMIT && id.isWellFormed();
  if (!fits || id.includes('\0')) {
    throw new SvcError('invalid_argument', `id must be text of 1 to ${ID_LIMIT} characters`, { field: 'id' });
  }
}

/** Normalises a scalar: JSON has no -0, and UTF-8 no lone surrogate. */
function plain(value: Scalar): Scalar {
  if (typeof value === 'string') return value.toWellFormed();
  return value === 0 ? 0 : value;
}

/**
 * Longer texts are kept beside the fields that queries see: a store that looks into a document for its indexes would read
 * such a text for each of them. No query names one.
 */
const LONG_CHARS = 4_096;

const isLong = (value: Scalar): boolean => typeof value === 'string' && value.length > LONG_CHARS;

/** Splits a document for storage. Throws `invalid_argument` or `payload_too_large`. */
export function shapeOf(doc: StoredDocument): StoredShape & { readonly fieldsJson: string } {
  checkKey(doc.tenant, doc.id);
  if (!Number.isSafeInteger(doc.version) || doc.version < 0) {
    throw new SvcError('invalid_argument', 'version must be a whole number, 0 or more', { field: 'version' });
  }
  const fields: Record<string, Scalar> = {};
  const rest: [string, unknown][] = [];
  for (const [name, value] of Object.entries(doc)) {
    if (name === 'tenant' || name === 'id' || name === 'version' || value === undefined) continue;
    if (isQueryField(name) && isScalar(value) && !isLong(value)) fields[name] = plain(value);
    else rest.push([name, value]);
  }
  const [restJson, fieldsJson] = [JSON.stringify(Object.fromEntries(rest)), JSON.stringify(fields)];
  if (Buffer.byteLength(restJson) + Buffer.byteLength(fieldsJson) > DOCUMENT_LIMIT_BYTES) {
    throw new SvcError('payload_too_large', `a document holds at most ${DOCUMENT_LIMIT_BYTES} bytes of JSON`);
  }
  return { tenant: doc.tenant, id: doc.id, version: doc.version, fields, fieldsJson, restJson };
}

/** Builds a document from its stored parts. It has the caller's type, because a collection has one writer type. */
export function documentOf<T extends StoredDocument>(shape: StoredShape): T {
  const rest = JSON.parse(shape.restJson);
  return { tenant: shape.tenant, id: shape.id, version: shape.version, ...shape.fields, ...rest };
}

/**
 * The order of a find, and the ranges behind a position in it. Every adapter orders by these terms and reads these
 * ranges, so a page begins where the previous one ended, whatever was written in between.
 */
type Term = readonly [field: string, order: 'asc' | 'desc'];

/** Stands for `tenant/id` in an order over all tenants. No document can have a queryable field of this name. */
export const WHOLE_KEY = '_id';

/** One condition of a range. For an order, a missing value is null, and null comes before everything. */
export type Bound =
  | { readonly kind: 'same'; readonly field: string; readonly value: Scalar }
  | { readonly kind: 'beyond'; readonly field: string; readonly order: 'asc' | 'desc'; readonly value: Scalar }
  | { readonly kind: 'present'; readonly field: string };

/**
 * Terms of an order. The id ends every order, in the direction of the last field, so that no two documents have the
 * same position.
 */
export function termsOf({ tenant, sort = [] }: Pick<Find, 'tenant' | 'sort'>): readonly Term[] {
  const id = tenant === null ? -1 : sort.findIndex(([field]) => field === 'id');
  if (id >= 0) return sort.slice(0, id + 1);
  return [...sort, [tenant === null ? WHOLE_KEY : 'id', sort.at(-1)?.[1] ?? 'asc']];
}

/** Position of a document in the order of a find. The next page is the one `after` the last document's position. */
export function positionOf(find: Pick<Find, 'tenant' | 'sort'>, doc: StoredDocument): Position {
  const values = new Map<string, unknown>(Object.entries(doc)).set(WHOLE_KEY, `${doc.tenant}/${doc.id}`);
  return termsOf(find).map(([field]) => {
    const value = values.get(field);
    return isScalar(value) ? value : null;
  });
}

/**
 * The documents behind a position, as disjoint ranges in their order. Each range is a list of equal fields and one
 * bound, which an index answers without reading skipped documents. Without a position it is one range without bounds.
 * Throws `invalid_argument` for a value that is not a position of this order.
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
