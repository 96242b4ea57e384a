import { mkdirSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import type { Clock } from '../clock.ts';
import { type OwnStore, SvcError } from '../errors.ts';

const SQLITE_BUSY = 5;

const SQLITE_LOCKED = 6;

const SQLITE_READONLY = 8;

const SQLITE_IOERR = 10;

const SQLITE_CORRUPT = 11;

const SQLITE_FULL = 13;

const SQLITE_CANTOPEN = 14;

const SQLITE_CONSTRAINT = 19;

const SQLITE_MISUSE = 21;

/** When a caller may try again after a full or failing disk refused a write. */
const COME_BACK_MS = 5_000;

/**
 * Size of the write-ahead log, in pages of 4 KiB, at which it is moved into the database. A move stalls the writers for
 * some milliseconds; with rare moves, a page that changed often is written only once.
 */
const CHECKPOINT_PAGES = 4_000;

/** Opens or creates a database that is durable at each commit: WAL, one fsync for each commit (K10, group-commit.ts). */
export function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    startFile(database);
    rewriteWhenSmall(database);
    keepLog(database);
    database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA journal_size_limit = 67108864;`);
    database.exec('PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens or creates `documents.db`. An acknowledged write is on disk (synchronous FULL). */
export function openDocumentsFile(path: string, busyTimeoutMs: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    startFile(database);
    keepLog(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Locks a data directory for this process until the returned function is called. The lock is an open exclusive
 * transaction on a tiny database, so the operating system drops it when the process dies in any way. Throws
 * `unavailable` when another process has it.
 */
export function lockDirectory(directory: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lock = openLock(join(directory, 'lock.db'));
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
  } catch (error) {
    lock.close();
    if (resultCode(error) !== SQLITE_BUSY) throw storeError(error);
    throw new SvcError('unavailable', `the data directory ${directory} is in use by another process`, { cause: error });
  }
  return () => lock.close();
}

function openLock(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    throw storeError(error);
  }
}

/** SQLite's primary result code in an error of `node:sqlite`; undefined for other errors. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}

const OF_THE_DISK: readonly (number | undefined)[] = [SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN];

/** Whether the disk refused a write, so that it may succeed later. */
export const isDiskFault = (error: unknown): boolean => OF_THE_DISK.includes(resultCode(error));

/** Free space that opening a database needs: SQLite's index of the log takes 32 KiB. */
const LEAST_ROOM_BYTES = 65_536;

function hasNoRoom(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize < LEAST_ROOM_BYTES;
}

/**
 * Converts an error of SQLite to the error for callers: `unavailable` for a full disk, a failed read or write and the like (the
 * same call may succeed later), `internal` for a violated constraint or a wrong call, and for a damaged page, which no repeat
 * repairs and other calls do not need. Pass `path` for a file that is being opened: SQLite reports a full disk there as an I/O
 * error, and a damaged file cannot be used at all.
 */
export function storeError(error: unknown, store: OwnStore = 'actors', path?: string): SvcError {
  if (error instanceof SvcError) return error;
  const code = resultCode(error);
  if (code === undefined || code === SQLITE_CONSTRAINT || code === SQLITE_MISUSE) {
    return new SvcError('internal', undefined, { cause: error });
  }
  if (code === SQLITE_CORRUPT && path === undefined)
    return new SvcError('internal', 'a page of the data file is damaged: restore a backup', { store, cause: error });
  const isFull = code === SQLITE_IOERR && path !== undefined && hasNoRoom(dirname(path));
  const said = isFull ? 'database or disk is full' : error instanceof Error ? error.message : 'unknown';
  // A lock is free after a moment. A full disk needs an operator.
  const later = code === SQLITE_BUSY || code === SQLITE_LOCKED ? {} : { retryAfterMs: COME_BACK_MS };
  return new SvcError('unavailable', `the data file cannot be used: ${said}`, { store, cause: error, ...later });
}

/**
 * A bound limit. SQLite looks at the value of a bare `LIMIT ?` while it prepares a statement, so it prepares it again after each
 * binding: that took half of a short read.
 */
export const LIMIT = 'LIMIT ? + 0';

export type Row = Record<string, SQLOutputValue>;

const wrong = (name: string, expected: string) =>
  new SvcError('internal', undefined, { cause: new Error(`column ${name} of the data file is not ${expected}`) });

/** Reads an INTEGER column. */
export function integer(row: Row, name: string): number {
  const value = row[name];
  if (typeof value !== 'number') throw wrong(name, 'an integer');
  return value;
}

/** Reads an INTEGER column with a position of the journal, which may be a fraction (`positionOf`, leases.ts). */
export const position = integer;

/** Reads a TEXT column. */
export function text(row: Row, name: string): string {
  const value = row[name];
  if (typeof value !== 'string') throw wrong(name, 'text');
  return value;
}

export function integerOrNull(row: Row, name: string): number | null {
  return row[name] === null ? null : integer(row, name);
}

export function textOrNull(row: Row, name: string): string | null {
  return row[name] === null ? null : text(row, name);
}

/** Free pages that stay in the file for later rows: 4 MiB in pages of 4 KiB. */
const KEPT_PAGES = 1_024;

/** Pages that one step returns: half a megabyte, some milliseconds. */
const STEP_PAGES = 128;

/** Files of an earlier version up to this size are rewritten once, when they are opened: about a second. */
const REWRITTEN_UP_TO_BYTES = 64 * 1024 * 1024;

const INCREMENTAL = 2;

function pragma(database: DatabaseSync, name: 'auto_vacuum' | 'freelist_count' | 'page_count' | 'page_size'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

/**
 * Lets a new file return space in steps, which must be set before the first table is created. SQLite would write the new
 * file through a journal, twice, with four fsyncs each. It is one page whose bytes are in its first sector, so that a power
 * failure leaves it whole or empty: it needs no journal, and the fsync of `keepLog` only.
 */
export function startFile(database: DatabaseSync): void {
  if (pragma(database, 'page_count') !== 0) return;
  database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA auto_vacuum = INCREMENTAL;');
}

/** Changes to a write-ahead log, durable at each commit. The directory is synced with the log's first commit. */
export function keepLog(database: DatabaseSync): void {
  database.exec('PRAGMA synchronous = FULL');
  const kept = database.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode;
  // A file system without shared memory refuses it.
  if (kept !== 'wal') database.exec('PRAGMA journal_mode = DELETE');
}

/**
 * Rewrites a small file that was created without this setting. A large file stays as it is, because rewriting would
 * delay the start and need as much space again. Its free pages are reused, and an operator may rewrite it while the
 * node is stopped (docs/operations/retention-and-backup.md).
 */
export function rewriteWhenSmall(database: DatabaseSync): void {
  const pages = pragma(database, 'page_count');
  if (pages === 0 || pragma(database, 'auto_vacuum') === INCREMENTAL) return;
  if (pages * pragma(database, 'page_size') <= REWRITTEN_UP_TO_BYTES)
    database.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM;');
}

/** Gives some free pages back to the file system. Returns whether there are more. */
export function giveBackSpace(database: DatabaseSync): boolean {
  const free = pragma(database, 'freelist_count');
  if (free <= KEPT_PAGES || pragma(database, 'auto_vacuum') !== INCREMENTAL) return false;
  database.exec(`PRAGMA incremental_vacuum(${Math.min(STEP_PAGES, free - KEPT_PAGES)})`);
  return free - STEP_PAGES > KEPT_PAGES;
}

/** How often damaged pages are looked for. */
const LOOK_EVERY_MS = 3_600_000;

/** Mends damaged indexes of a file, and says once an hour which file has damaged pages. */
export class DamagedPages {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #warn: (message: string, error: unknown) => void;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(path: string, clock: Pick<Clock, 'monotonic'>, warn: (message: string, error: unknown) => void) {
    this.#path = path;
    this.#clock = clock;
    this.#warn = warn;
  }

  /**
   * Whether a damaged index was built again after this error, so that the call may be repeated. That reads the whole file, so it
   * is not done for each call that meets a damaged page of a table.
   */
  mends(error: unknown, database: DatabaseSync): boolean {
    if (!isDamaged(error) || this.#clock.monotonic() - this.#lookedAt < LOOK_EVERY_MS) return false;
    this.#lookedAt = this.#clock.monotonic();
    try {
      const names = rebuildDamagedIndexes(database);
      if (names.length > 0) {
        const what = `damaged pages of ${this.#path}: the index ${names.join(', ')} was built again from its table`;
        this.#warn(`${what}, nothing is lost; check the disk`, error);
        return true;
      }
      this.#warn(
        `a page of ${this.#path} is damaged: check the disk, and restore a backup of the data directory`,
        error,
      );
    } catch (failed) {
      this.#warn(
        `pages of ${this.#path} are damaged: check the disk, and restore a backup of the data directory`,
        failed,
      );
    }
    return false;
  }
}

/** Whether a page that the call needs is damaged. */
const isDamaged = (error: unknown): boolean => resultCode(error) === SQLITE_CORRUPT;

interface IndexRow {
  readonly name: string;
  readonly table: string;
  readonly definition: string;
}

/**
 * Builds each index that has a damaged page again from its table, in one transaction, and returns their names. REINDEX and DROP
 * INDEX read the damaged page to free it and fail, so the schema is pointed to a new index, and the old pages stay unused in the
 * file until it is rewritten, which a small file is at once. Reads the whole file. Throws when the table is damaged too.
 */
function rebuildDamagedIndexes(database: DatabaseSync): readonly string[] {
  const damaged = indexesOf(database).filter(({ name, table }) => !canBeRead(database, table, name));
  if (damaged.length === 0) return [];
  database.enableDefensive(false);
  try {
    database.exec('BEGIN IMMEDIATE');
    for (const { definition } of damaged) database.exec(definition);
    database.exec('PRAGMA writable_schema = ON');
    const point = database.prepare(
      'UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = ?) WHERE name = ?',
    );
    const remove = database.prepare('DELETE FROM sqlite_schema WHERE name = ?');
    for (const { name } of damaged) {
      point.run(rebuilt(name), name);
      remove.run(rebuilt(name));
    }
    database.exec('PRAGMA writable_schema = RESET; COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  } finally {
    database.exec('PRAGMA writable_schema = RESET');
    database.enableDefensive(true);
  }
  if (pragma(database, 'page_count') * pragma(database, 'page_size') <= REWRITTEN_UP_TO_BYTES) database.exec('VACUUM');
  return damaged.map(({ name }) => name);
}

const rebuilt = (name: string): string => `rebuilt_${name}`;

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function indexesOf(database: DatabaseSync): IndexRow[] {
  const rows = database.prepare("SELECT name, tbl_name AS of, sql FROM sqlite_schema WHERE type = 'index'").all();
  return rows.map((row) => {
    const [name, table, sql] = [text(row, 'name'), text(row, 'of'), textOrNull(row, 'sql')];
    const columns = database.prepare(`PRAGMA index_info(${quoted(name)})`).all();
    // The index of a UNIQUE constraint has no definition of its own.
    const definition =
      sql === null
        ? `CREATE UNIQUE INDEX ${quoted(rebuilt(name))} ON ${quoted(table)} (${columns.map((one) => quoted(text(one, 'name'))).join(', ')})`
        : sql.replace(name, rebuilt(name));
    return { name, table, definition };
  });
}

/** Whether all pages of an index can be read. */
function canBeRead(database: DatabaseSync, table: string, index: string): boolean {
  try {
    database.prepare(`SELECT count(*) FROM ${quoted(table)} INDEXED BY ${quoted(index)}`).get();
    return true;
  } catch (error) {
    // A partial index cannot be used so.
    return !isDamaged(error);
  }
}
