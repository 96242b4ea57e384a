import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { CollectionSpec } from '../documents.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { giveBackSpace, isDiskFault } from './database.ts';
import { type SchemaStep, schemaOf, tableOf } from './documents-sql.ts';

/** JSON text of a field, which keeps types apart. A missing field is null. */
const textOf = (row: 'new' | 'old' | '', field: string): string =>
  `ifnull(${row === '' ? '' : `${row}.`}fields -> '$.${field}', 'null')`;

export const countsTable = (spec: CollectionSpec, counted: readonly string[]): string =>
  `cnt_${spec.name}__${counted.join('__')}`;

/** Name of the table with a collection's counts; undefined when it has none. */
const countsOf = (spec: CollectionSpec): string | undefined =>
  spec.counted === undefined ? undefined : countsTable(spec, spec.counted);

/**
 * The table of a collection's counts: one row for each combination of its counted fields. Triggers maintain it in the
 * transaction of each write, and these statements fill it from the stored documents. They run when the table is
 * missing: at the first start, and at the start after an operator dropped the table to have everything counted again.
 */
function countsSchemaOf(spec: CollectionSpec): string[] {
  const { counted } = spec;
  if (counted === undefined) return [];
  const [table, counts] = [tableOf(spec.name), countsTable(spec, counted)];
  const columns = counted.map((field) => `of_${field}`);
  const key = ['tenant', ...columns];
  const keyOf = (row: 'new' | 'old') => [`${row}.tenant`, ...counted.map((field) => textOf(row, field))].join(', ');
  const at = (row: 'new' | 'old') => `(${key.join(', ')}) = (${keyOf(row)})`;
  const more = `INSERT INTO ${counts} VALUES (${keyOf('new')}, 1)
     ON CONFLICT (${key.join(', ')}) DO UPDATE SET n = n + 1;`;
  const less = `UPDATE ${counts} SET n = n - 1 WHERE ${at('old')}; DELETE FROM ${counts} WHERE ${at('old')} AND n = 0;`;
  const trigger = (when: string, steps: string) => `CREATE TRIGGER ${counts}__${when} BEGIN ${steps} END`;
  // Triggers of a dropped counts table: they belong to the documents' table.
  const left = ['added', 'removed', 'changed'].map((when) => `DROP TRIGGER IF EXISTS ${counts}__${when}`);
  return [
    ...left,
    `CREATE TABLE ${counts} (${key.map((column) => `${column} TEXT NOT NULL`).join(', ')}, n INTEGER NOT NULL,
       PRIMARY KEY (${key.join(', ')})) WITHOUT ROWID`,
    `INSERT INTO ${counts} SELECT tenant, ${counted.map((field) => textOf('', field)).join(', ')}, count(*) FROM ${table}
       GROUP BY ${key.map((_, at) => at + 1).join(', ')}`,
    trigger(`added AFTER INSERT ON ${table}`, more),
    trigger(`removed AFTER DELETE ON ${table}`, less),
    trigger(`changed AFTER UPDATE ON ${table} WHEN (${keyOf('old')}) IS NOT (${keyOf('new')})`, `${less} ${more}`),
  ];
}

/** Tenant, id, version, searchable fields and the rest as JSON text: the columns of a documents table. */
export type DocumentRow = readonly [tenant: string, id: string, version: number, fields: string, rest: string];

/** One write as plain data, so that another thread can run it. */
export type DocumentWrite =
  | { readonly do: 'insert'; readonly table: string; readonly row: DocumentRow }
  | {
      readonly do: 'put';
      readonly table: string;
      readonly rows: readonly DocumentRow[];
      /** Whether the collection has unique tuples. */
      readonly unique: boolean;
    }
  | { readonly do: 'replace'; readonly table: string; readonly row: DocumentRow; readonly expected: number }
  | { readonly do: 'delete'; readonly table: string; readonly tenant: string; readonly id: string }
  | {
      readonly do: 'deleteVersion';
      readonly table: string;
      readonly tenant: string;
      readonly id: string;
      readonly expected: number;
    }
  /** `where` is the text of the statement behind the table's name. */
  | {
      readonly do: 'deleteMany';
      readonly table: string;
      readonly where: string;
      readonly values: readonly SQLInputValue[];
    }
  /** Creates the missing tables, indexes and counts of collections. */
  | { readonly do: 'schema'; readonly specs: readonly CollectionSpec[] }
  /** Returns free pages in one step. The outcome is 1 when more are left. */
  | { readonly do: 'giveBackSpace' };

/** How many documents were written or removed, or why the write failed. */
export type DocumentOutcome = number | SvcError;

interface TableStatements {
  readonly insert: StatementSync;
  readonly upsert: StatementSync;
  readonly update: StatementSync;
  readonly replace: StatementSync;
  readonly has: StatementSync;
  readonly add: StatementSync;
  readonly delete: StatementSync;
  readonly deleteVersion: StatementSync;
}

const SQLITE_CONSTRAINT_UNIQUE = 2067;

function isUniqueConflict(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_CONSTRAINT_UNIQUE;
}

/** Runs writes on one connection, a group of them in one transaction. */
export class DocumentWrites {
  readonly #database: DatabaseSync;
  readonly #tables = new Map<string, TableStatements>();
  #isSynced = true;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Runs a group and returns once it is durable. A write that fails by itself (a unique conflict) changes nothing and
   * does not affect the others. A failure of the transaction (a full disk) fails all of them.
   */
  apply(writes: readonly DocumentWrite[]): DocumentOutcome[] {
    const outcomes: DocumentOutcome[] = [];
    try {
      this.#sync(writes.some((write) => write.do !== 'schema'));
      this.#database.exec('BEGIN IMMEDIATE');
      for (const write of writes) outcomes.push(isOneStatement(write) ? this.#one(write) : this.#several(write));
      this.#database.exec('COMMIT');
      return outcomes;
    } catch (cause) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      const said = cause instanceof Error ? cause.message : 'unknown';
      const text = `the document store could not commit: ${said}`;
      const error = new SvcError('unavailable', text, { store: 'documents', cause });
      return writes.map(() => error);
    }
  }

  /**
   * Whether commits wait for the disk. A commit that only creates tables does not: the write-ahead log keeps their order, so
   * the next durable commit covers it, and lost tables are created again at the next start.
   */
  #sync(wanted: boolean): void {
    if (wanted === this.#isSynced) return;
    this.#database.exec(`PRAGMA synchronous = ${wanted ? 'FULL' : 'NORMAL'}`);
    this.#isSynced = wanted;
  }

  /** Runs one write. At most one of its statements changes data, and SQLite undoes a failing statement. */
  #one(write: DocumentWrite): DocumentOutcome {
    try {
      return this.#changesOf(write);
    } catch (error) {
      // A full or read-only disk and an I/O error end the transaction, or only the statement: every write of the group fails.
      if (!this.#database.isTransaction || isDiskFault(error)) throw error;
      return toSvcError(error);
    }
  }

  #several(write: DocumentWrite): DocumentOutcome {
    this.#database.exec('SAVEPOINT one');
    const outcome = this.#one(write);
    this.#database.exec(typeof outcome === 'number' ? 'RELEASE one' : 'ROLLBACK TO one; RELEASE one');
    return outcome;
  }

  #changesOf(write: DocumentWrite): number {
    switch (write.do) {
      case 'insert':
        return changes(this.#of(write.table).insert.run(...write.row));
      case 'put': {
        const table = this.#of(write.table);
        return refusingConflicts(() => {
          let written = 0;
          for (const row of write.rows)
            written += write.unique ? putWhereUnique(table, row) : changes(table.upsert.run(...row));
          return written;
        });
      }
      case 'replace':
        return refusingConflicts(() => changes(this.#of(write.table).replace.run(...write.row, write.expected)));
      case 'delete':
        return changes(this.#of(write.table).delete.run(write.tenant, write.id));
      case 'deleteVersion':
        return changes(this.#of(write.table).deleteVersion.run(write.tenant, write.id, write.expected));
      case 'deleteMany':
        return changes(this.#database.prepare(`DELETE FROM ${write.table}${write.where}`).run(...write.values));
      case 'schema':
        return this.#create(write.specs);
      case 'giveBackSpace':
        return giveBackSpace(this.#database) ? 1 : 0;
    }
  }

  #create(specs: readonly CollectionSpec[]): number {
    const names = namesIn(this.#database);
    for (const step of specs.flatMap(schemaOf)) {
      if (names.has(step.name) === (step.when === 'missing')) continue;
      this.#database.exec(step.text);
      if (step.when === 'missing') names.add(step.name);
      else names.delete(step.name);
    }
    for (const spec of specs) {
      const counts = countsOf(spec);
      if (counts === undefined || names.has(counts)) continue;
      for (const statement of countsSchemaOf(spec)) this.#database.exec(statement);
      names.add(counts);
    }
    return 0;
  }

  #of(table: string): TableStatements {
    const known = this.#tables.get(table);
    if (known !== undefined) return known;
    const made = statementsOf(this.#database, table);
    this.#tables.set(table, made);
    return made;
  }
}

const isOneStatement = (write: DocumentWrite): boolean =>
  write.do !== 'schema' && (write.do !== 'put' || !write.unique || write.rows.length === 1);

function statementsOf(database: DatabaseSync, table: string): TableStatements {
  const insert = `INSERT INTO ${table} (tenant, id, version, fields, rest) VALUES (?, ?, ?, ?, ?)`;
  const remove = `DELETE FROM ${table} WHERE tenant = ? AND id = ?`;
  const update = `UPDATE ${table} SET version = ?3, fields = ?4, rest = ?5 WHERE tenant = ?1 AND id = ?2`;
  return {
    insert: database.prepare(`${insert} ON CONFLICT DO NOTHING`),
    upsert: database.prepare(
      `${insert} ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, fields = excluded.fields,
         rest = excluded.rest WHERE ${table}.version < excluded.version`,
    ),
    update: database.prepare(`${update} AND version < ?3`),
    replace: database.prepare(`${update} AND version = ?6`),
    has: database.prepare(`SELECT 1 FROM ${table} WHERE tenant = ? AND id = ?`),
    add: database.prepare(insert),
    delete: database.prepare(remove),
    deleteVersion: database.prepare(`${remove} AND version = ?`),
  };
}

const changes = (done: ReturnType<StatementSync['run']>): number => Number(done.changes);

/** Not an UPSERT: with several unique indexes it may fail on the row that it is about to replace. */
function putWhereUnique({ update, has, add }: TableStatements, row: DocumentRow): number {
  if (changes(update.run(...row)) === 1) return 1;
  if (has.get(row[0], row[1]) !== undefined) return 0;
  return changes(add.run(...row));
}

function refusingConflicts(write: () => number): number {
  try {
    return write();
  } catch (cause) {
    if (!isUniqueConflict(cause)) throw cause;
    throw new SvcError('conflict', 'another document of this tenant holds the same unique fields', { cause });
  }
}

/** Whether everything of a collection is there, so that nothing needs to be created. */
export function isMade(spec: CollectionSpec, names: ReadonlySet<string>): boolean {
  const counts = countsOf(spec);
  const isDone = (step: SchemaStep): boolean => names.has(step.name) === (step.when === 'missing');
  return schemaOf(spec).every(isDone) && (counts === undefined || names.has(counts));
}

/** Names of the tables and indexes of the file. To ask for all at once is quicker than a statement for each. */
export const namesIn = (database: DatabaseSync): Set<string> =>
  new Set(
    database
      .prepare("SELECT name FROM sqlite_master WHERE type IN ('table', 'index')")
      .all()
      .map(({ name }) => String(name)),
  );
