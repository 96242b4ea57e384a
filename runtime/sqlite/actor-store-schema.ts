import type { DatabaseSync } from 'node:sqlite';
import { SvcError } from '../errors.ts';

const VERSION = 1;

/**
 * `key` columns hold partition and sequence number in one integer (see `keyOf`), so that a partition's rows lie side
 * by side and appends go to the end of a page.
 */
const SCHEMA = `
  CREATE TABLE pools (name TEXT PRIMARY KEY, partitions INTEGER NOT NULL) WITHOUT ROWID;

  CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    tail INTEGER NOT NULL DEFAULT 0,
    cursor INTEGER NOT NULL DEFAULT 0,
    trimmed INTEGER NOT NULL DEFAULT 0,  -- the journal is forgotten up to here
    swept INTEGER NOT NULL DEFAULT 0,    -- mailbox rows and replies are deleted up to here
    epoch INTEGER NOT NULL DEFAULT 0,
    lease_grant TEXT,
    lease_node TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0
  );

  -- Entries stay for the journal and, with the id of a client message, as its duplicate check.
  CREATE TABLE mailbox (key INTEGER PRIMARY KEY, at INTEGER NOT NULL, id TEXT, body TEXT NOT NULL);
  CREATE TABLE replies (key INTEGER PRIMARY KEY, body TEXT NOT NULL);

  -- Client messages that wait for an actor.
  CREATE TABLE waiting (
    partition INTEGER NOT NULL, address TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (partition, address)
  ) WITHOUT ROWID;

  CREATE TABLE journal (
    partition INTEGER NOT NULL, up_to INTEGER NOT NULL, n INTEGER NOT NULL, after INTEGER NOT NULL, row TEXT NOT NULL,
    PRIMARY KEY (partition, up_to, n)
  ) WITHOUT ROWID;

  CREATE TABLE actors (
    id INTEGER PRIMARY KEY, partition INTEGER NOT NULL, address TEXT NOT NULL, record TEXT,
    UNIQUE (partition, address)
  );
  CREATE TABLE events (
    actor INTEGER NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (actor, seq)
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

/** Creates the tables in an empty file; refuses a file of a later version. */
export function createSchema(database: DatabaseSync): void {
  const version = database.prepare('PRAGMA user_version').get()?.user_version;
  if (version === VERSION) return;
  if (version !== 0) {
    throw new SvcError(
      'failed_precondition',
      `the data file has version ${String(version)}, this program reads version ${VERSION}`,
    );
  }
  database.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${VERSION}; COMMIT;`);
}

/** Room for sequence numbers in a key: 2^36 messages in each of 2^17 partitions. */
const SEQUENCES = 2 ** 36;

export const keyOf = (partitionId: number, seq: number): number => partitionId * SEQUENCES + seq;

export const seqOf = (key: number): number => key % SEQUENCES;
