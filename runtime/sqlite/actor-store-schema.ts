import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import {
  FORMAT,
  type FormatNote,
  formatFact,
  MIN_READER,
  ownNote,
  parseFormatNote,
  refuseUnreadable,
} from '../store-formats.ts';
import { integer, storeError, text } from './database.ts';

/**
 * The cost of a commit is the size of its changed pages. So mailbox entries, replies and journal rows of all partitions
 * are stored in the order of their arrival, at the end of their tables. The keys of each partition are held in memory
 * (see PartitionBook) and read from the tables at opening.
 */
const SCHEMA = `
  CREATE TABLE pools (name TEXT PRIMARY KEY, partitions INTEGER NOT NULL) WITHOUT ROWID;

  -- \`tail\` may lag behind the mailbox, since an append does not write it.
  CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    tail INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    trimmed INTEGER NOT NULL,  -- the journal is forgotten up to this position
    epoch INTEGER NOT NULL,
    lease_grant TEXT,
    lease_node TEXT,
    lease_until INTEGER NOT NULL
  );

  -- Positions in the journal are fractions since format 3 (journal-position.ts): columns of integers take them.
  -- Entries stay for the journal and, with the id of a client message, as its duplicate check.
  CREATE TABLE mailbox (
    key INTEGER PRIMARY KEY, partition INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, id TEXT,
    body TEXT NOT NULL
  );
  -- Under the key of the mailbox entry they answer.
  CREATE TABLE replies (key INTEGER PRIMARY KEY, body TEXT NOT NULL);
  CREATE TABLE journal (
    key INTEGER PRIMARY KEY, partition INTEGER NOT NULL, after INTEGER NOT NULL, up_to INTEGER NOT NULL,
    row TEXT NOT NULL
  );

  -- Client messages that wait for an actor.
  CREATE TABLE waiting (
    partition INTEGER NOT NULL, address TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (partition, address)
  ) WITHOUT ROWID;

  CREATE TABLE actors (
    id INTEGER PRIMARY KEY, partition INTEGER NOT NULL, address TEXT NOT NULL, record TEXT,
    UNIQUE (partition, address)
  );
  -- The events of one commit share rows (EventTable).
  CREATE TABLE events (
    actor INTEGER NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL, lengths TEXT, PRIMARY KEY (actor, seq)
  ) WITHOUT ROWID;

  CREATE TABLE timers (
    partition INTEGER NOT NULL, id TEXT NOT NULL, due INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (partition, id)
  ) WITHOUT ROWID;
  CREATE INDEX timers_due ON timers (partition, due);

  CREATE TABLE effects (
    partition INTEGER NOT NULL, id TEXT NOT NULL, queue TEXT NOT NULL, address TEXT NOT NULL, mode TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open', attempt INTEGER NOT NULL DEFAULT 0, until INTEGER NOT NULL DEFAULT 0,
    runner TEXT, body TEXT NOT NULL, PRIMARY KEY (partition, id)
  ) WITHOUT ROWID;

  CREATE TABLE directory (
    home TEXT NOT NULL, address TEXT NOT NULL, partition TEXT NOT NULL, PRIMARY KEY (home, address)
  ) WITHOUT ROWID;
`;

/** Facts about the store. The table exists since format 2. */
const FACTS = 'CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;';

/** The column that rows of formats 1 to 6 do not have. */
const COLUMN_OF_7 = 'ALTER TABLE events ADD COLUMN lengths TEXT;';

/** Refuses a file that programs of this format cannot read, before anything else is opened. It writes nothing. */
export function refuseUnreadableFile(path: string): void {
  if (!existsSync(path)) return;
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    try {
      refuseUnreadable(`the data file ${path}`, notesOf(database, path));
    } finally {
      database.close();
    }
  } catch (error) {
    throw storeError(error, 'actors', path);
  }
}

/**
 * Creates the tables in an empty file, brings an older file to this format, and refuses one that it cannot read. The
 * file's `user_version` is the lowest format that can read it: programs of format 1 refuse any other value than their
 * own.
 */
export function createSchema(database: DatabaseSync, path: string): void {
  refuseUnreadable(`the data file ${path}`, notesOf(database, path));
  const version = minReaderOf(database);
  if (version >= MIN_READER) return;
  const note = JSON.stringify(ownNote(MIN_READER));
  try {
    const tables = version === 0 ? SCHEMA : version < 7 ? COLUMN_OF_7 : '';
    database.exec(`BEGIN; ${tables} ${FACTS}`);
    database.prepare('INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)').run(formatFact(FORMAT), note);
    database.exec(`PRAGMA user_version = ${MIN_READER}; COMMIT;`);
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** The lowest format that can read the file; 0 for an empty file. */
function minReaderOf(database: DatabaseSync): number {
  const row = database.prepare('PRAGMA user_version').get();
  return row === undefined ? 0 : integer(row, 'user_version');
}

function notesOf(database: DatabaseSync, path: string): FormatNote[] {
  const min_reader = minReaderOf(database);
  const unnamed = { format: min_reader, min_reader, written_by: 'of a later version' };
  const kept = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'facts'").get();
  if (kept === undefined) return [unnamed];
  const rows = database.prepare("SELECT value FROM facts WHERE name LIKE 'format.%'").all();
  const notes = rows.map((row) => parseFormatNote(`the data file ${path}`, text(row, 'value')));
  return notes.some((note) => note.min_reader >= min_reader) ? notes : [...notes, unnamed];
}
