import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { checkKey, documentOf, type StoredShape, shapeOf } from '../documents/document-shape.ts';
import type { Collection, CollectionSpec, Find, Query, StoredDocument } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { readyCountOf } from './documents-counts.ts';
import type { GroupCommit } from './documents-group.ts';
import { countOf, DOCUMENT_COLUMNS, selectOf, tableOf, tenantsOf, totalOf, whereOf } from './documents-sql.ts';

type Row = ReturnType<StatementSync['get']>;

const SQLITE_CONSTRAINT_UNIQUE = 2067;

function isUniqueConflict(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_CONSTRAINT_UNIQUE;
}

const values = (shape: StoredShape): [string, string, number, string, string] => [
  shape.tenant,
  shape.id,
  shape.version,
  JSON.stringify(shape.fields),
  shape.restJson,
];

/** Of a statement's columns by place: to name them in every row made a list a fifth dearer. */
function documentOfRow<T extends StoredDocument>(row: NonNullable<Row>): T {
  return documentOf({
    tenant: String(row[0]),
    id: String(row[1]),
    version: Number(row[2]),
    fields: JSON.parse(String(row[3])),
    restJson: String(row[4]),
  });
}

/** One table of documents. Writes go through the group commit, reads see what is committed. */
export class SqliteCollection<T extends StoredDocument> implements Collection<T> {
  readonly #database: DatabaseSync;
  readonly #group: GroupCommit;
  readonly #spec: CollectionSpec;
  readonly #table: string;
  readonly #insert: StatementSync;
  readonly #put: StatementSync;
  readonly #update: StatementSync;
  readonly #replace: StatementSync;
  readonly #get: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteVersion: StatementSync;

  constructor(database: DatabaseSync, group: GroupCommit, spec: CollectionSpec) {
    const table = tableOf(spec.name);
    this.#database = database;
    this.#group = group;
    this.#spec = spec;
    this.#table = table;
    const insert = `INSERT INTO ${table} (tenant, id, version, fields, rest) VALUES (?, ?, ?, ?, ?)`;
    this.#insert = database.prepare(`${insert} ON CONFLICT DO NOTHING`);
    this.#put = database.prepare(insert);
    this.#update = database.prepare(
      `UPDATE ${table} SET version = ?3, fields = ?4, rest = ?5 WHERE tenant = ?1 AND id = ?2 AND version < ?3`,
    );
    this.#replace = database.prepare(
      `UPDATE ${table} SET version = ?3, fields = ?4, rest = ?5 WHERE tenant = ?1 AND id = ?2 AND version = ?6`,
    );
    this.#get = database.prepare(`SELECT ${DOCUMENT_COLUMNS} FROM ${table} WHERE tenant = ? AND id = ?`);
    this.#get.setReturnArrays(true);
    const remove = `DELETE FROM ${table} WHERE tenant = ? AND id = ?`;
    this.#delete = database.prepare(remove);
    this.#deleteVersion = database.prepare(`${remove} AND version = ?`);
  }

  async insert(doc: T): Promise<boolean> {
    const shape = shapeOf(doc);
    return this.#group.run(() => this.#insert.run(...values(shape)).changes === 1);
  }

  async put(doc: T): Promise<boolean> {
    const shape = shapeOf(doc);
    return this.#group.run(() => this.#putOne(shape));
  }

  async putMany(docs: readonly T[]): Promise<void> {
    if (docs.length === 0) return;
    const shapes = docs.map(shapeOf);
    await this.#group.run(() => {
      for (const shape of shapes) this.#putOne(shape);
    });
  }

  async replace(doc: T, expected: number): Promise<boolean> {
    const shape = shapeOf(doc);
    return this.#group.run(() =>
      this.#refusingConflicts(() => this.#replace.run(...values(shape), expected).changes === 1),
    );
  }

  async get(tenant: string, id: string): Promise<T | null> {
    checkKey(tenant, id);
    const row = this.#group.read(() => this.#get.get(tenant, id));
    return row === undefined ? null : documentOfRow(row);
  }

  async find(find: Find): Promise<T[]> {
    const select = selectOf(this.#table, find);
    const rows = this.#group.read(() => {
      const statement = this.#database.prepare(select.text);
      statement.setReturnArrays(true);
      return statement.all(...select.values);
    });
    return rows.map((row) => documentOfRow<T>(row));
  }

  async count(query: Query): Promise<number> {
    const count = readyCountOf(this.#spec, query) ?? countOf(this.#table, query);
    const row = this.#group.read(() => this.#database.prepare(count.text).get(...count.values));
    return Number(row?.n ?? 0);
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    checkKey(tenant, id);
    return this.#group.run(() => this.#delete.run(tenant, id).changes === 1);
  }

  async deleteVersion(tenant: string, id: string, expected: number): Promise<boolean> {
    checkKey(tenant, id);
    return this.#group.run(() => this.#deleteVersion.run(tenant, id, expected).changes === 1);
  }

  async deleteMany(query: Query): Promise<number> {
    const where = whereOf(query);
    const text = `DELETE FROM ${this.#table}${where.text}`;
    return this.#group.run(() => Number(this.#database.prepare(text).run(...where.values).changes));
  }

  async total(query: Query, field: string): Promise<number> {
    const total = totalOf(this.#table, query, field);
    const row = this.#group.read(() => this.#database.prepare(total.text).get(...total.values));
    return Number(row?.n ?? 0);
  }

  async tenants(): Promise<string[]> {
    const rows = this.#group.read(() => this.#database.prepare(tenantsOf(this.#table)).all());
    return rows.map(({ tenant }) => String(tenant));
  }

  /** Not an UPSERT: with several unique indexes that one may fail on the row it is about to replace. */
  #putOne(shape: StoredShape): boolean {
    return this.#refusingConflicts(() => {
      const row = values(shape);
      if (this.#update.run(...row).changes === 1) return true;
      if (this.#get.get(shape.tenant, shape.id) !== undefined) return false;
      return this.#put.run(...row).changes === 1;
    });
  }

  #refusingConflicts(write: () => boolean): boolean {
    try {
      return write();
    } catch (cause) {
      if (!isUniqueConflict(cause)) throw cause;
      throw new SvcError('conflict', 'another document of this tenant holds the same unique fields', { cause });
    }
  }
}
