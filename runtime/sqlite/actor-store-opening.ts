import type { DatabaseSync } from 'node:sqlite';
import { ActorTable } from './actor-store-actors.ts';
import { AppliedCommits } from './actor-store-applied.ts';
import type { Tables } from './actor-store-commit.ts';
import { DirectoryTable } from './actor-store-directory.ts';
import { EffectTable } from './actor-store-effects.ts';
import { FactTable } from './actor-store-facts.ts';
import { JournalTable } from './actor-store-journal.ts';
import { LeaseTable } from './actor-store-leases.ts';
import { MailboxTable } from './actor-store-mailbox.ts';
import type { Notices } from './actor-store-notices.ts';
import { PartitionBook } from './actor-store-partitions.ts';
import { createSchema } from './actor-store-schema.ts';
import { Sweep } from './actor-store-sweep.ts';
import { TimerTable } from './actor-store-timers.ts';
import { openDatabase } from './database.ts';
import { GroupCommit } from './group-commit.ts';

/** An open data file with all its tables. */
export interface Opened extends Tables {
  readonly database: DatabaseSync;
  readonly group: GroupCommit;
  readonly leases: LeaseTable;
  readonly directory: DirectoryTable;
  readonly facts: FactTable;
  readonly sweep: Sweep;
  readonly unlock: () => void;
}

/** Opens the file, creates what is missing and reads what is held in memory. */
export function openTables(path: string, notices: Notices, unlock: () => void): Opened {
  const database = openDatabase(path);
  try {
    createSchema(database, path);
    return { ...tablesOf(database, notices), unlock };
  } catch (error) {
    database.close();
    throw error;
  }
}

function tablesOf(database: DatabaseSync, notices: Notices): Omit<Opened, 'unlock'> {
  const book = new PartitionBook(database);
  const sweep = new Sweep(database, book);
  const applied = new AppliedCommits();
  const mailbox = new MailboxTable(database, book, notices, sweep);
  return {
    database,
    book,
    notices,
    mailbox,
    sweep,
    applied,
    actors: new ActorTable(database),
    timers: new TimerTable(database, book, mailbox),
    effects: new EffectTable(database, mailbox, notices),
    journal: new JournalTable(database, book, mailbox, sweep),
    leases: new LeaseTable(database, book),
    directory: new DirectoryTable(database),
    facts: new FactTable(database),
    group: new GroupCommit(database, [book, notices, applied]),
  };
}
