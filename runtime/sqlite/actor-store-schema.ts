import type { DatabaseSync } from 'node:sqlite';
import { SvcError } from '../errors.ts';

const VERSION = 1;

/**
 * A commit costs what its changed pages weigh. So mailbox entries, replies and journal rows of all partitions lie in
 * the order of their arrival, at the end of their tables; which keys belong to a partition is held in memory (see
 * PartitionBook) and read from the tables at opening.
 */
const SCHEMA = `
  CREATE TABLE pools (name TEXT PRIMARY KEY, partitions INTEGER NOT NULL) WITHOUT ROWID;

  -- \`tail\` may lag behind the mailbox, since an append does not write it.
  CREATE TABLE partitions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    tail INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    trimmed INTEGER NOT NULL,  -- the journal is forgotten up to here
    epoch INTEGER NOT NULL,
    lease_grant TEXT,
    lease_node TEXT,
    lease_until INTEGER NOT NULL
  );

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
