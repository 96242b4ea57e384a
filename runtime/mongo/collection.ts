import type { Filter, FindOptions, Sort } from 'mongodb';
import {
  type Bound,
  type Comparison,
  checkField,
  checkFind,
  checkKey,
  comparisons,
  documentOf,
  isQueryField,
  rangesOf,
  shapeOf,
  termsOf,
} from '../documents/document-query.ts';
import type { Collection, CollectionSpec, Find, Query, Stored, StoredDocument } from '../documents.ts';
import { isDuplicate } from './failures.ts';
import { type MongoSession, QUERY_TIMEOUT_MS, type Row, type Rows } from './session.ts';
import type { VersionedWrites } from './versioned-writes.ts';

/** One MongoDB collection of documents. The `_id` of a document is `tenant/id`. */
export class MongoCollection<T extends StoredDocument> implements Collection<T> {
  readonly #session: MongoSession;
  readonly #rows: Rows;
  readonly #spec: CollectionSpec;
  readonly #writes: VersionedWrites;

  constructor(session: MongoSession, rows: Rows, spec: CollectionSpec, writes: VersionedWrites) {
    this.#session = session;
    this.#rows = rows;
    this.#spec = spec;
    this.#writes = writes;
  }

  async insert(doc: T): Promise<boolean> {
    const row = rowOf(doc, this.#spec);
    return this.#session.run(async () => {
      try {
        await this.#rows.ask((rows) => rows.insertOne(row));
        return true;
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
    });
  }

  async put(doc: T): Promise<boolean> {
    const row = rowOf(doc, this.#spec);
    return this.#session.run(() => this.#writes.put(row));
  }

  async putMany(docs: readonly T[]): Promise<void> {
    if (docs.length === 0) return;
    // Only the newest version of each id is written; among equal versions the first one.
    const newest = new Map<string, Row>();
    for (const doc of docs) {
      const row = rowOf(doc, this.#spec);
      const earlier = newest.get(row._id);
      if (earlier === undefined || earlier.version < row.version) newest.set(row._id, row);
    }
    await this.#session.run(() => this.#writes.putMany([...newest.values()]));
  }

  async replace(doc: T, expected: number): Promise<boolean> {
    const row = rowOf(doc, this.#spec);
    return this.#session.run(() => this.#writes.replace(row, expected));
  }

  async get(tenant: string, id: string): Promise<T | null> {
    checkKey(tenant, id);
    const row = await this.#session.run(() =>
      this.#rows.look((rows) => rows.findOne({ _id: keyOf(tenant, id) }, { maxTimeMS: QUERY_TIMEOUT_MS })),
    );
    return row === null ? null : documentOfRow<T>(row);
  }

  async find(find: Find): Promise<T[]> {
    return (await this.#select(find, {})).map((row) => documentOfRow<T>(row));
  }

  async findStored(find: Find): Promise<Stored[]> {
    // Only fields that an index of the order holds when `version` is in it.
    const rows = await this.#select(find, { projection: { tenant: 1, version: 1 } });
    return rows.map(({ _id, tenant, version }) => ({ tenant, id: _id.slice(tenant.length + 1), version }));
  }

  async count(query: Query): Promise<number> {
    const filter = filterOf(query);
    return this.#session.run(() =>
      this.#rows.ask((rows) => rows.countDocuments(filter, { maxTimeMS: QUERY_TIMEOUT_MS })),
    );
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    checkKey(tenant, id);
    const result = await this.#session.run(() => this.#rows.ask((rows) => rows.deleteOne({ _id: keyOf(tenant, id) })));
    return result.deletedCount === 1;
  }

  async deleteVersion(tenant: string, id: string, expected: number): Promise<boolean> {
    checkKey(tenant, id);
    return this.#session.run(() => this.#writes.remove(keyOf(tenant, id), expected));
  }

  async deleteMany(query: Query): Promise<number> {
    const filter = filterOf(query);
    const result = await this.#session.run(() => this.#rows.ask((rows) => rows.deleteMany(filter)));
    return result.deletedCount;
  }

  async total(query: Query, field: string): Promise<number> {
    checkField(field, 'total');
    const stages = [{ $match: filterOf(query) }, { $group: { _id: null, n: { $sum: `$${field}` } } }];
    const [sum] = await this.#session.run(() =>
      this.#rows.ask((rows) => rows.aggregate(stages, { maxTimeMS: QUERY_TIMEOUT_MS }).toArray()),
    );
    return Number(sum?.n ?? 0);
  }

  async tenants(): Promise<string[]> {
    const found = await this.#session.run(() => this.#rows.ask((rows) => rows.distinct('tenant')));
    return found.map(String);
  }

  /** Reads range after range until the page is full. */
  #select(find: Find, options: FindOptions): Promise<Row[]> {
    checkFind(find);
    const { limit, skip = 0 } = find;
    const sort = sortOf(find);
    return this.#session.run(async () => {
      const found: Row[] = [];
      for (const range of rangesOf(find)) {
        const rest = limit - found.length;
        const filter = filterOf(find, range);
        // By default a server returns 101 documents, and the driver fetches the rest in a second call.
        const page = { ...options, sort, skip, limit: rest, batchSize: rest, maxTimeMS: QUERY_TIMEOUT_MS };
        found.push(...(await this.#rows.look((rows) => rows.find(filter, page).toArray())));
        if (found.length === limit) break;
      }
      return found;
    });
  }
}

/** Filter of a condition. Values only appear behind an operator written here, so no value can act as an operator. */
function condition(comparison: Comparison): Filter<Row> {
  const { field } = comparison;
  if (comparison.kind === 'equal') return { [field]: { $eq: comparison.value } };
  if (comparison.kind === 'in') return { [field]: { $in: [...comparison.values] } };
  return { [field]: { [`$${comparison.operator}`]: comparison.value } };
}

/** Adds the keys of a list of ids: there is an index on keys, and none on ids. */
const keysAmong = (tenant: string, query: Query): Filter<Row>[] =>
  comparisons(query).flatMap((comparison): Filter<Row>[] =>
    comparison.kind === 'in' && comparison.field === 'id'
      ? [{ _id: { $in: comparison.values.map((id) => keyOf(tenant, String(id))) } }]
      : [],
  );

/** Adds a range of keys for a range of ids: inside a tenant they are the same, and there is an index on keys. */
function keyRange(tenant: string, query: Query): Filter<Row>[] {
  const ranges = comparisons(query).flatMap((comparison): Filter<Row>[] =>
    comparison.kind === 'range' && comparison.field === 'id' && typeof comparison.value === 'string'
      ? [{ _id: { [`$${comparison.operator}`]: keyOf(tenant, comparison.value) } }]
      : [],
  );
  return ranges.length === 0 ? [] : [...ranges, { _id: { $gte: keyOf(tenant, ''), $lt: `${tenant}0` } }];
}

function filterOf(query: Query, range: readonly Bound[] = []): Filter<Row> {
  const { tenant } = query;
  const parts = [...comparisons(query).map(condition), ...range.map((one) => bound(tenant, one))];
  if (tenant !== null) {
    parts.unshift({ tenant: { $eq: tenant } }, ...keysAmong(tenant, query), ...keyRange(tenant, query));
  }
  return parts.length === 0 ? {} : { $and: parts };
}

/** Filter of one bound. A missing field counts as null, in conditions and in orders. */
function bound(tenant: string | null, one: Bound): Filter<Row> {
  const isKey = one.field === 'id' && tenant !== null;
  const place = isKey ? '_id' : one.field;
  if (one.kind === 'present') return { [place]: { $ne: null } };
  const value = isKey ? keyOf(tenant, String(one.value)) : one.value;
  if (one.kind === 'same') return { [place]: { $eq: value } };
  return { [place]: { [one.order === 'asc' ? '$gt' : '$lt']: value } };
}

/** Sort of a find. Inside one tenant the order of ids is that of `_id`, which the indexes hold. */
function sortOf(find: Find): Sort {
  const isKey = (field: string): boolean => field === 'id' && find.tenant !== null;
  return termsOf(find).map(([field, order]): [string, 1 | -1] => [
    isKey(field) ? '_id' : field,
    order === 'asc' ? 1 : -1,
  ]);
}

export const keyOf = (tenant: string, id: string): string => `${tenant}/${id}`;

export const uniqueField = (tuple: readonly string[]): string => `Unique_${tuple.join('_')}`;

/**
 * Value of a unique tuple: one string under a unique index, because MongoDB would take two missing fields for equal. A
 * tuple with a null part need not be unique, so it gets the document's own key.
 */
function uniqueValue(row: Row, tuple: readonly string[]): string {
  const parts = tuple.map((field) => row[field] ?? null);
  return parts.includes(null) ? `id:${row.id}` : JSON.stringify(parts);
}

function rowOf(doc: StoredDocument, spec: CollectionSpec): Row {
  const { tenant, id, version, fields, restJson } = shapeOf(doc);
  const row: Row = { ...fields, _id: keyOf(tenant, id), tenant, id, version, restJson };
  for (const tuple of spec.unique) row[uniqueField(tuple)] = uniqueValue(row, tuple);
  return row;
}

function documentOfRow<T extends StoredDocument>(row: Row): T {
  const { tenant, id, version, restJson } = row;
  const fields = Object.fromEntries(Object.entries(row).filter(([name]) => isQueryField(name)));
  return documentOf({ tenant, id, version, fields, restJson });
}
