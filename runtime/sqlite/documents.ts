import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  checkFind,
  checkKey,
  checkSpec,
  comparisons,
  documentOf,
  rangesOf,
  shapeOf,
} from '../documents/document-query.ts';
import type {
  Collection,
  CollectionSpec,
  Documents,
  Find,
  Query,
  Scalar,
  Stored,
  StoredDocument,
} from '../documents.ts';
import { SvcError } from '../errors.ts';
import { openDocumentsFile, rewriteWhenSmall } from './database.ts';
import { GroupCommit } from './documents-group.ts';
import {
  countOf,
  DOCUMENT_COLUMNS,
  type Sql,
  STORED_COLUMNS,
  selectOf,
  tableOf,
  tenantsOf,
  totalOf,
  whereOf,
} from './documents-sql.ts';
import { DocumentsWriter } from './documents-thread.ts';
import { countsTable, type DocumentRow, isMade, namesIn } from './documents-write.ts';

const BUSY_TIMEOUT_MS = 5_000;

/** Documents within a second that start the thread. An idle node writes some documents a second without it. */
const THREAD_FROM_ROWS = 200;

const QUIET_MS = 30_000;

export interface SqliteDocumentsOptions {
  readonly directory: string;
  /** How long a write waits for another process that has locked the file. */
  readonly busyTimeoutMs?: number;
  readonly threadFromRows?: number;
  readonly quietMs?: number;
  readonly warn?: (message: string, error: unknown) => void;
  /** Called when writes failed. */
  readonly onFailed?: () => void;
}

interface Open {
  readonly database: DatabaseSync;
  readonly group: GroupCommit;
  readonly writer: DocumentsWriter;
  /** Tables and indexes that the file had when it was opened. */
  readonly names: ReadonlySet<string>;
}

/**
 * Documents in `documents.db` of the data directory. It is a file and connection of its own, so that the projector's
 * writes never wait for an actor commit. An acknowledged write is on disk (synchronous FULL), because the catalog is
 * stored here only. Reads run on the caller's thread and see committed data, whichever thread committed it.
 */
export class SqliteDocuments implements Documents {
  readonly #options: SqliteDocumentsOptions;
  #open: Open | undefined;

  constructor(options: SqliteDocumentsOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    if (this.#open !== undefined) return;
    const { directory, busyTimeoutMs = BUSY_TIMEOUT_MS, warn = () => {}, onFailed } = this.#options;
    const { threadFromRows = THREAD_FROM_ROWS, quietMs = QUIET_MS } = this.#options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const path = join(directory, 'documents.db');
    const database = openDocumentsFile(path, busyTimeoutMs);
    const writer = new DocumentsWriter(database, { path, busyTimeoutMs, threadFromRows, quietMs, warn });
    try {
      await writer.open();
      this.#open = { database, writer, group: new GroupCommit(writer, onFailed), names: namesIn(database) };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    await open.group.close();
    await open.writer.close();
    open.database.close();
  }

  /** Whether a thread of its own writes now. */
  get hasThread(): boolean {
    return this.#open?.writer.hasThread === true;
  }

  /** Rewrites a small file of an earlier version once, so that it can return space. */
  rewriteWhenSmall(): void {
    rewriteWhenSmall(this.#opened().database);
  }

  /** Gives some of the space of deleted documents back to the file system. Returns whether there is more. */
  async upkeep(): Promise<boolean> {
    return (await this.#opened().group.run({ do: 'giveBackSpace' })) > 0;
  }

  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    checkSpec(spec);
    const { database, group, names } = this.#opened();
    if (!isMade(spec, names)) group.use(spec);
    return new SqliteCollection<T>(database, group, spec);
  }

  #opened(): Open {
    if (this.#open === undefined)
      throw new SvcError('unavailable', 'the document store is not open', { store: 'documents' });
    return this.#open;
  }
}

type Row = ReturnType<StatementSync['get']>;

/** Row of a document. Throws when the document is invalid. */
function rowOf(doc: StoredDocument): DocumentRow {
  const { tenant, id, version, fieldsJson, restJson } = shapeOf(doc);
  return [tenant, id, version, fieldsJson, restJson];
}

const storedOfRow = (row: NonNullable<Row>): Stored => ({
  tenant: String(row[0]),
  id: String(row[1]),
  version: Number(row[2]),
});

/** Document of a row, with columns by position: rows with column names made a list a fifth slower. */
function documentOfRow<T extends StoredDocument>(row: NonNullable<Row>): T {
  return documentOf({
    tenant: String(row[0]),
    id: String(row[1]),
    version: Number(row[2]),
    fields: JSON.parse(String(row[3])),
    restJson: String(row[4]),
  });
}

/** One table of documents. Writes go through the group commit; reads see committed data. */
class SqliteCollection<T extends StoredDocument> implements Collection<T> {
  readonly #database: DatabaseSync;
  readonly #group: GroupCommit;
  readonly #spec: CollectionSpec;
  readonly #table: string;
  #get: StatementSync | undefined;

  constructor(database: DatabaseSync, group: GroupCommit, spec: CollectionSpec) {
    const table = tableOf(spec.name);
    this.#database = database;
    this.#group = group;
    this.#spec = spec;
    this.#table = table;
  }

  async insert(doc: T): Promise<boolean> {
    return (await this.#group.run({ do: 'insert', table: this.#table, row: rowOf(doc) })) === 1;
  }

  async put(doc: T): Promise<boolean> {
    return (await this.#put([rowOf(doc)])) === 1;
  }

  async putMany(docs: readonly T[]): Promise<void> {
    if (docs.length > 0) await this.#put(docs.map(rowOf));
  }

  async replace(doc: T, expected: number): Promise<boolean> {
    return (await this.#group.run({ do: 'replace', table: this.#table, row: rowOf(doc), expected })) === 1;
  }

  async get(tenant: string, id: string): Promise<T | null> {
    checkKey(tenant, id);
    const row = await this.#group.read(() => this.#prepared().get(tenant, id));
    return row === undefined ? null : documentOfRow(row);
  }

  async find(find: Find): Promise<T[]> {
    return (await this.#select(find, DOCUMENT_COLUMNS)).map((row) => documentOfRow<T>(row));
  }

  async findStored(find: Find): Promise<Stored[]> {
    return (await this.#select(find, STORED_COLUMNS)).map(storedOfRow);
  }

  async count(query: Query): Promise<number> {
    const count = readyCountOf(this.#spec, query) ?? countOf(this.#table, query);
    const row = await this.#group.read(() => this.#database.prepare(count.text).get(...count.values));
    return Number(row?.n ?? 0);
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    checkKey(tenant, id);
    return (await this.#group.run({ do: 'delete', table: this.#table, tenant, id })) === 1;
  }

  async deleteVersion(tenant: string, id: string, expected: number): Promise<boolean> {
    checkKey(tenant, id);
    return (await this.#group.run({ do: 'deleteVersion', table: this.#table, tenant, id, expected })) === 1;
  }

  async deleteMany(query: Query): Promise<number> {
    const { text, values } = whereOf(query);
    return this.#group.run({ do: 'deleteMany', table: this.#table, where: text, values });
  }

  async total(query: Query, field: string): Promise<number> {
    const total = totalOf(this.#table, query, field);
    const row = await this.#group.read(() => this.#database.prepare(total.text).get(...total.values));
    return Number(row?.n ?? 0);
  }

  async tenants(): Promise<string[]> {
    const rows = await this.#group.read(() => this.#database.prepare(tenantsOf(this.#table)).all());
    return rows.map(({ tenant }) => String(tenant));
  }

  /** Prepared on first use, because the table may not exist before. */
  #prepared(): StatementSync {
    if (this.#get === undefined) {
      this.#get = this.#database.prepare(`SELECT ${DOCUMENT_COLUMNS} FROM ${this.#table} WHERE tenant = ? AND id = ?`);
      this.#get.setReturnArrays(true);
    }
    return this.#get;
  }

  #put(rows: readonly DocumentRow[]): Promise<number> {
    return this.#group.run({ do: 'put', table: this.#table, rows, unique: this.#spec.unique.length > 0 });
  }

  /** Reads range after range until the page is full, in one snapshot, because another thread may write meanwhile. */
  async #select(find: Find, columns: string): Promise<NonNullable<Row>[]> {
    checkFind(find);
    const ranges = rangesOf(find);
    return this.#group.read(() => {
      if (ranges.length === 1) return this.#selectRanges(find, ranges, columns);
      this.#database.exec('BEGIN');
      try {
        return this.#selectRanges(find, ranges, columns);
      } finally {
        this.#database.exec('COMMIT');
      }
    });
  }

  #selectRanges(find: Find, ranges: ReturnType<typeof rangesOf>, columns: string): NonNullable<Row>[] {
    const rows: NonNullable<Row>[] = [];
    for (const range of ranges) {
      const select = selectOf(this.#table, { ...find, limit: find.limit - rows.length }, range, columns);
      const statement = this.#database.prepare(select.text);
      statement.setReturnArrays(true);
      for (const row of statement.all(...select.values)) rows.push(row);
      if (rows.length === find.limit) break;
    }
    return rows;
  }
}

const boundText = (value: Scalar): string => JSON.stringify(typeof value === 'string' ? value.toWellFormed() : value);

/** Query of the counts table. Undefined when the query has conditions that the table does not cover. */
function readyCountOf(spec: CollectionSpec, query: Query): Sql | undefined {
  const { counted } = spec;
  if (counted === undefined) return undefined;
  const text = [`SELECT sum(n) AS n FROM ${countsTable(spec, counted)} WHERE 1`];
  const values: string[] = [];
  if (query.tenant !== null) {
    text.push('tenant = ?');
    values.push(query.tenant);
  }
  for (const comparison of comparisons(query)) {
    if (comparison.kind === 'range' || !counted.includes(comparison.field)) return undefined;
    const wanted = comparison.kind === 'in' ? comparison.values : [comparison.value];
    text.push(`of_${comparison.field} IN (${wanted.map(() => '?').join(', ')})`);
    values.push(...wanted.map(boundText));
  }
  return { text: text.join(' AND '), values };
}
