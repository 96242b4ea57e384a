import { mkdirSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { type OwnStore, SvcError } from '../errors.ts';

const SQLITE_BUSY = 5;

const SQLITE_LOCKED = 6;

const SQLITE_IOERR = 10;

const SQLITE_CONSTRAINT = 19;

const SQLITE_MISUSE = 21;

/** When a caller may try again what a disk did not take. */
const COME_BACK_MS = 5_000;

/**
 * How much of the write-ahead log is kept before it is moved into the database, in pages of 4 KiB. A move stalls the
 * writers for some milliseconds; moving rarely writes a page that changed often only once.
 */
const CHECKPOINT_PAGES = 4_000;

/** Opens (creates) a database that is durable at each commit: WAL, one fsync a commit (K10). */
export function openDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    makeFreeable(database);
    rewriteWhenSmall(database);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA journal_size_limit = 67108864;`);
    database.exec('PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens (creates) `documents.db`; an acknowledged write is on disk (synchronous FULL). */
export function openDocumentsFile(path: string, busyTimeoutMs: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    makeFreeable(database);
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Locks a data directory for this process until the answer is called. The lock is an open exclusive transaction on a
 * tiny database, so the operating system drops it when the process dies in any way.
 * Throws `unavailable` when another process has it.
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

/** SQLite's primary result code of an error of `node:sqlite`, else undefined. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return undefined;
  return error.errcode & 0xff;
}

/** SQLite's index of the log takes 32 KiB. */
const LEAST_ROOM_BYTES = 65_536;

function hasNoRoom(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize < LEAST_ROOM_BYTES;
}

/**
 * What a caller sees of an error below: a full disk, a failed read or write and the like are `unavailable` (the same
 * call may succeed later), a broken rule of the schema or a wrong call is `internal`. `path` of a file that is being opened:
 * SQLite calls a disk without room for its index of the log an I/O error.
 */
export function storeError(error: unknown, store: OwnStore = 'actors', path?: string): SvcError {
  if (error instanceof SvcError) return error;
  const code = resultCode(error);
  if (code === undefined || code === SQLITE_CONSTRAINT || code === SQLITE_MISUSE) {
    return new SvcError('internal', undefined, { cause: error });
  }
  const isFull = code === SQLITE_IOERR && path !== undefined && hasNoRoom(dirname(path));
  const said = isFull ? 'database or disk is full' : error instanceof Error ? error.message : 'unknown';
  // A lock is free in a moment; room on a disk is made by people.
  const later = code === SQLITE_BUSY || code === SQLITE_LOCKED ? {} : { retryAfterMs: COME_BACK_MS };
  return new SvcError('unavailable', `the data file cannot be used: ${said}`, { store, cause: error, ...later });
}

export type Row = Record<string, SQLOutputValue>;

const wrong = (name: string, expected: string) =>
  new SvcError('internal', undefined, { cause: new Error(`column ${name} of the data file is not ${expected}`) });

/** An INTEGER column. */
export function integer(row: Row, name: string): number {
  const value = row[name];
  if (typeof value !== 'number') throw wrong(name, 'an integer');
  return value;
}

/** An INTEGER column that holds a position of the journal, which may be a fraction (journal-position.ts). */
export const position = integer;

/** A TEXT column. */
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

/** Free pages that stay for the rows to come: 4 MiB in pages of 4 KiB. */
const KEPT_PAGES = 1_024;

/** Pages of one step: half a megabyte, some milliseconds. */
const STEP_PAGES = 128;

/** Files of an earlier version up to this size are rewritten once, when they are opened: about a second. */
const REWRITTEN_UP_TO_BYTES = 64 * 1024 * 1024;

const INCREMENTAL = 2;

function pragma(database: DatabaseSync, name: 'auto_vacuum' | 'freelist_count' | 'page_count' | 'page_size'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

/** Lets a new file give space back in steps; it must be said before the first table is made, so before anything else. */
function makeFreeable(database: DatabaseSync): void {
  if (pragma(database, 'page_count') === 0) database.exec('PRAGMA auto_vacuum = INCREMENTAL');
}

/**
 * Rewrites a file that was made without it, when it is small. A large one stays as it is, since rewriting would hold the
 * start up and needs as much space again: its free pages are used again, and an operator may rewrite it while the node is
 * stopped (docs/operations/retention-and-backup.md).
 */
export function rewriteWhenSmall(database: DatabaseSync): void {
  const pages = pragma(database, 'page_count');
  if (pages === 0 || pragma(database, 'auto_vacuum') === INCREMENTAL) return;
  if (pages * pragma(database, 'page_size') <= REWRITTEN_UP_TO_BYTES)
    database.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM;');
}

/** Gives some free pages back to the file system; answers whether there are more to give. */
export function giveBackSpace(database: DatabaseSync): boolean {
  const free = pragma(database, 'freelist_count');
  if (free <= KEPT_PAGES || pragma(database, 'auto_vacuum') !== INCREMENTAL) return false;
  database.exec(`PRAGMA incremental_vacuum(${Math.min(STEP_PAGES, free - KEPT_PAGES)})`);
  return free - STEP_PAGES > KEPT_PAGES;
}
