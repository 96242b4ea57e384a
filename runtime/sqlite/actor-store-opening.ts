import type { DatabaseSync } from 'node:sqlite';
import type { AcquireOutcome, Lease } from '../actor-store.ts';
import { type Address, asAddress, type Partition, type PoolLayout } from '../address.ts';
import type { Unsubscribe } from '../leases.ts';
import { checkMember, checkSignal, type LiveMember, type Member, type MembersRead } from '../members.ts';
import { ActorTable, JournalTable } from './actor-store-actors.ts';
import { AppliedCommits, besideAt, type Tables } from './actor-store-commit.ts';
import { EffectTable } from './actor-store-effects.ts';
import { partitionNamed } from './actor-store-loading.ts';
import { MailboxTable } from './actor-store-mailbox.ts';
import { type Notices, Topic } from './actor-store-notices.ts';
import { PartitionBook } from './actor-store-partitions.ts';
import { createSchema } from './actor-store-schema.ts';
import { Sweep } from './actor-store-sweep.ts';
import { TimerTable } from './actor-store-timers.ts';
import { integer, LIMIT, openDatabase, text } from './database.ts';
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

interface Faults {
  /** Called when a group of writes failed. */
  readonly onFailed: () => void;
  /** Whether the fault of a call is mended, so that the call is tried again. */
  readonly mends: (error: unknown, database: DatabaseSync) => boolean;
}

/** Opens the file, creates missing tables and loads the state that is held in memory. */
export function openTables(path: string, notices: Notices, unlock: () => void, faults: Faults): Opened {
  const database = openDatabase(path);
  const open = (): Opened => {
    createSchema(database, path);
    return { ...tablesOf(database, notices, faults), unlock };
  };
  try {
    try {
      return open();
    } catch (error) {
      if (!faults.mends(error, database)) throw error;
      return open();
    }
  } catch (error) {
    database.close();
    throw error;
  }
}

function tablesOf(database: DatabaseSync, notices: Notices, { onFailed, mends }: Faults): Omit<Opened, 'unlock'> {
  const book = new PartitionBook(database);
  const sweep = new Sweep(database, book);
  const applied = new AppliedCommits();
  const mailbox = new MailboxTable(database, book, notices, sweep);
  const actors = new ActorTable(database);
  return {
    database,
    book,
    notices,
    mailbox,
    sweep,
    applied,
    actors,
    timers: new TimerTable(database, book, mailbox),
    effects: new EffectTable(database, mailbox, notices),
    journal: new JournalTable(database, book, mailbox, sweep),
    leases: new LeaseTable(database, book),
    directory: new DirectoryTable(database),
    facts: new FactTable(database),
    group: new GroupCommit(database, [book, notices, applied, mailbox, actors], onFailed, (error) =>
      mends(error, database),
    ),
  };
}

/** Facts about the store as a whole, by name. */
class FactTable {
  readonly #all;
  readonly #keep;

  constructor(database: DatabaseSync) {
    this.#all = database.prepare('SELECT name, value FROM facts');
    this.#keep = database.prepare('INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)');
  }

  all(): ReadonlyMap<string, string> {
    return new Map(this.#all.all().map((row) => [text(row, 'name'), text(row, 'value')]));
  }

  keep(name: string, value: string): void {
    this.#keep.run(name, value);
  }
}

const PAGE = 250;

interface PlacedPage {
  readonly entries: { readonly address: Address; readonly partition: Partition }[];
  readonly next: string | null;
}

/** The partitions of actors that do not live at home (K1). */
class DirectoryTable {
  readonly #insert;
  readonly #find;
  readonly #delete;
  readonly #page;
  /** Most stores have no entry, and no lookup is needed then. */
  #mayHaveEntries: boolean;

  constructor(database: DatabaseSync) {
    this.#mayHaveEntries = database.prepare('SELECT 1 FROM directory LIMIT 1').get() !== undefined;
    this.#insert = database.prepare(
      'INSERT INTO directory (home, address, partition) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#find = database.prepare('SELECT partition FROM directory WHERE home = ? AND address = ?');
    this.#delete = database.prepare('DELETE FROM directory WHERE home = ? AND address = ? AND partition = ?');
    this.#page = database.prepare(
      `SELECT address, partition FROM directory WHERE home = ? AND address > ? ORDER BY address ${LIMIT}`,
    );
  }

  place(home: Partition, address: Address, partition: Partition): Partition {
    this.#mayHaveEntries = true;
    this.#insert.run(home, address, partition);
    return this.locate(home, address) ?? partition;
  }

  locate(home: Partition, address: Address): Partition | null {
    if (!this.#mayHaveEntries) return null;
    const row = this.#find.get(home, address);
    return row === undefined ? null : partitionNamed(text(row, 'partition'));
  }

  unplace(home: Partition, address: Address, partition: Partition): boolean {
    return this.#mayHaveEntries && this.#delete.run(home, address, partition).changes > 0;
  }

  /** Returns a page, which begins behind the last address of the previous one. */
  placed(home: Partition, page: string | null): PlacedPage {
    const entries = this.#page.all(home, page ?? '', PAGE).map((row) => {
      return { address: asAddress(text(row, 'address')), partition: partitionNamed(text(row, 'partition')) };
    });
    return { entries, next: entries.length < PAGE ? null : (entries.at(-1)?.address ?? null) };
  }
}

/** The definitions of pools and the leases of partitions (K2, K4). */
class LeaseTable {
  readonly #book: PartitionBook;
  readonly #define;
  readonly #count;
  readonly #pools;

  constructor(database: DatabaseSync, book: PartitionBook) {
    this.#book = book;
    this.#define = database.prepare('INSERT INTO pools (name, partitions) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#count = database.prepare('SELECT partitions FROM pools WHERE name = ?');
    this.#pools = database.prepare('SELECT name, partitions FROM pools ORDER BY name');
  }

  definePool(pool: string, partitions: number): number {
    this.#define.run(pool, partitions);
    const row = this.#count.get(pool);
    return row === undefined ? partitions : integer(row, 'partitions');
  }

  pools(): PoolLayout[] {
    return this.#pools.all().map((row) => ({ pool: text(row, 'name'), partitions: integer(row, 'partitions') }));
  }

  acquire(
    partition: Partition,
    node: string,
    grant: string,
    ttlMs: number,
    over: string | undefined,
    now: number,
  ): AcquireOutcome {
    const state = this.#book.get(partition);
    const { node: holder, grant: held, until } = state;
    if (holder !== null && held !== null && holder !== node && held !== over && until > now) {
      return { kind: 'held', by: holder, grant: held, remainingMs: until - now };
    }
    this.#book.changeRow(state);
    // The same grant again: the answer to the first call was lost.
    if (held !== grant || holder !== node) state.epoch += 1;
    state.grant = grant;
    state.node = node;
    state.until = now + ttlMs;
    const lease = { log: partition, node, epoch: state.epoch, grant };
    const nextTimerAt = this.#book.nextTimerAt(state);
    // The files of a data directory are kept, copied and restored together.
    const progress = { cursor: state.cursor, beside: besideAt(state), tail: state.tail };
    return { kind: 'granted', lease, ...progress, nextTimerAt, at: now, mayBeOlder: false };
  }

  renew(leases: readonly Lease[], ttlMs: number, now: number): Lease[] {
    return leases.filter((lease) => {
      const state = this.#book.held(lease);
      if (state === undefined) return true;
      this.#book.changeRow(state);
      state.until = now + ttlMs;
      return false;
    });
  }

  release(lease: Lease): void {
    const state = this.#book.held(lease);
    if (state === undefined) return;
    this.#book.changeRow(state);
    state.grant = null;
    state.node = null;
    state.until = 0;
  }
}

/** How long an expired lease stays: its own incarnation may still extend it. */
const FORGET_AFTER_MS = 3_600_000;

interface Row extends Member {
  readonly until: number;
}

/** A read that returns all members: only one process has the data file, so there are few. */
export function lookOf(node: string, live: readonly LiveMember[]): MembersRead {
  const others = live.filter((member) => member.node !== node).map(({ remainingMs }) => remainingMs);
  const members = live.map(({ remainingMs: _, ...member }) => member);
  return { version: '', members, gone: null, soonestMs: Math.min(Number.POSITIVE_INFINITY, ...others) };
}

/**
 * Node leases and signals (P2), in memory: only one process has the data file, so every possible holder and listener
 * lives in it and ends with it. For the same reason a closed store forgets them.
 */
export class MemberBook {
  readonly #rows = new Map<string, Row>();
  readonly #signals = new Topic<(content: string) => void>();

  announce(member: Member, ttlMs: number, first: boolean, now: number): boolean {
    checkMember(member);
    const { node, incarnation, card } = member;
    if (!first && this.#rows.get(node)?.incarnation !== incarnation) return false;
    for (const row of this.#rows.values()) if (row.until + FORGET_AFTER_MS < now) this.#rows.delete(row.node);
    this.#rows.set(node, { node, incarnation, card, until: now + ttlMs });
    return true;
  }

  members(now: number): LiveMember[] {
    return [...this.#rows.values()]
      .filter((row) => row.until > now)
      .sort((a, b) => (a.node < b.node ? -1 : 1))
      .map(({ until, ...member }) => ({ ...member, remainingMs: until - now }));
  }

  isKnown(node: string, incarnation: string): boolean {
    return this.#rows.get(node)?.incarnation === incarnation;
  }

  retire(node: string, incarnation: string): boolean {
    return this.#rows.get(node)?.incarnation === incarnation && this.#rows.delete(node);
  }

  /** Sends a signal outside the caller's turn, because a listener may call the store again. */
  signal(node: string | null, content: string): void {
    checkSignal(node, content);
    setImmediate(() => {
      const topics = node === null ? this.#signals.keys() : [node];
      for (const each of topics) for (const receive of this.#signals.of(each)) receive(content);
    });
  }

  onSignal(node: string, receive: (content: string) => void): Unsubscribe {
    return this.#signals.subscribe(node, receive);
  }

  forget(): void {
    this.#rows.clear();
  }
}
