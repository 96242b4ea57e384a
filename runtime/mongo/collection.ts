import type { FindOptions } from 'mongodb';
import { checkField, checkFind } from '../documents/document-query.ts';
import { checkKey } from '../documents/document-shape.ts';
import { rangesOf } from '../documents/order.ts';
import type { Collection, CollectionSpec, Find, Query, Stored, StoredDocument } from '../documents.ts';
import { isDuplicate } from './failures.ts';
import { filterOf, sortOf } from './filter.ts';
import { documentOfRow, keyOf, type Row, rowOf } from './row.ts';
import type { MongoSession, Rows } from './session.ts';
import type { VersionedWrites } from './versioned-writes.ts';
import { QUERY_TIMEOUT_MS } from './waits.ts';

/** One MongoDB collection of documents. A document is found by `_id`, which is `tenant/id`. */
export class MongoCollection<T extends StoredDocument> implements Collection<T> {
  readonly #session: MongoSession;
  readonly #rows: Rows;
  readonly #spec: CollectionSpec;
  readonly #writes: VersionedWrites;

  constructor(session: MongoSession, spec: CollectionSpec, writes: (rows: Rows) => VersionedWrites) {
    this.#session = session;
    this.#rows = session.rows(spec.name);
    this.#spec = spec;
    this.#writes = writes(this.#rows);
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
    // Of one id only the newest survives the batch; among equal versions the first one.
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
    // Nothing that an index of the order does not hold when the version is beside it.
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

  /** Range after range until the page is full. */
  #select(find: Find, options: FindOptions): Promise<Row[]> {
    checkFind(find);
    const { limit, skip = 0 } = find;
    const sort = sortOf(find);
    return this.#session.run(async () => {
      const found: Row[] = [];
      for (const range of rangesOf(find)) {
        const rest = limit - found.length;
        const filter = filterOf(find, range);
        // Left to itself a server answers 101 documents and has the driver come back for the rest.
        const page = { ...options, sort, skip, limit: rest, batchSize: rest, maxTimeMS: QUERY_TIMEOUT_MS };
        found.push(...(await this.#rows.look((rows) => rows.find(filter, page).toArray())));
        if (found.length === limit) break;
      }
      return found;
    });
  }
}
