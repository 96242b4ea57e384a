import type { DatabaseSync } from 'node:sqlite';
import type { EventAppend, JournalRow } from '../actor-store.ts';
import { type Address, addressOf, parseAddress } from '../address.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import type { Sweep } from './actor-store-sweep.ts';
import { integer, LIMIT, text, textOrNull } from './database.ts';
import type { GroupMember } from './group-commit.ts';

/** Number of actors whose row numbers are in memory. */
const MOST_KNOWN = 4_096;

/** Most events in one statement: a run that ends at once has five. */
const MOST_TOGETHER = 8;

/** Stores actor records and event streams. */
export class ActorTable implements GroupMember {
  /** Row numbers by partition and address: each commit of an actor, and each read of its events, needs its own. */
  readonly #known = new Map<string, number>();
  readonly #put;
  readonly #update;
  readonly #clear;
  readonly #dropEmpty;
  readonly #record;
  readonly #recorded;
  readonly #count;
  readonly #find;
  readonly #drop;
  readonly #insert;
  readonly #addEvents;
  readonly #dropEvents;
  readonly #events;

  constructor(database: DatabaseSync) {
    this.#put = database.prepare(
      `INSERT INTO actors (partition, address, record) VALUES (?, ?, ?)
       ON CONFLICT (partition, address) DO UPDATE SET record = excluded.record RETURNING id`,
    );
    this.#update = database.prepare('UPDATE actors SET record = ? WHERE id = ?');
    this.#clear = database.prepare('UPDATE actors SET record = NULL WHERE partition = ? AND address = ?');
    this.#dropEmpty = database.prepare(
      `DELETE FROM actors WHERE partition = ? AND address = ?
       AND NOT EXISTS (SELECT 1 FROM events WHERE actor = actors.id)`,
    );
    this.#record = database.prepare('SELECT record FROM actors WHERE partition = ? AND address = ?');
    this.#recorded = database.prepare('SELECT address FROM actors WHERE partition = ? AND record IS NOT NULL');
    this.#count = database.prepare('SELECT COUNT(*) AS actors FROM actors WHERE partition = ? AND record IS NOT NULL');
    this.#find = database.prepare('SELECT id FROM actors WHERE partition = ? AND address = ?');
    this.#drop = database.prepare('DELETE FROM actors WHERE id = ?');
    // Without RETURNING and its row it takes half the time.
    this.#insert = database.prepare(
      'INSERT INTO actors (partition, address, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
    this.#addEvents = Array.from({ length: MOST_TOGETHER }, (_, more) =>
      database.prepare(`INSERT INTO events (actor, seq, data) VALUES (?, ?, ?)${', (?, ?, ?)'.repeat(more)}`),
    );
    this.#dropEvents = database.prepare('DELETE FROM events WHERE actor = ?');
    this.#events = database.prepare(`SELECT seq, data FROM events WHERE actor = ? AND seq > ? ORDER BY seq ${LIMIT}`);
    this.#events.setReturnArrays(true);
  }

  write(partition: PartitionState, address: Address, record: string | null): void {
    if (record !== null) {
      const known = this.#known.get(keyOf(partition, address));
      if (known !== undefined) this.#update.run(record, known);
      else this.#create(partition, address, record);
      return;
    }
    this.#known.delete(keyOf(partition, address));
    this.#clear.run(partition.id, address);
    this.#dropEmpty.run(partition.id, address);
  }

  load(partition: PartitionState, address: Address): string | null {
    const row = this.#record.get(partition.id, address);
    return row === undefined ? null : textOrNull(row, 'record');
  }

  recorded(partition: PartitionState): Address[] {
    return this.#recorded.all(partition.id).map((row) => {
      const { kind, tenant, id } = parseAddress(text(row, 'address'));
      return addressOf(kind, tenant, id);
    });
  }

  count(partition: PartitionState): number {
    const row = this.#count.get(partition.id);
    return row === undefined ? 0 : integer(row, 'actors');
  }

  append(partition: PartitionState, { address, first, data }: EventAppend): void {
    const actor = this.#idOf(partition, address) ?? this.#create(partition, address, null);
    for (let from = 0; from < data.length; from += MOST_TOGETHER) {
      const values: (number | string)[] = [];
      const some = data.slice(from, from + MOST_TOGETHER);
      for (const [n, each] of some.entries()) values.push(actor, first + from + n, each);
      this.#addEvents[some.length - 1]?.run(...values);
    }
  }

  events(partition: PartitionState, address: Address, after: number, limit: number) {
    const actor = this.#idOf(partition, address);
    if (actor === undefined) return [];
    return this.#events.all(actor, after, limit).map((row) => ({ seq: Number(row[0]), data: String(row[1]) }));
  }

  forget(partition: PartitionState, address: Address): void {
    const actor = this.#idOf(partition, address);
    if (actor === undefined) return;
    this.#known.delete(keyOf(partition, address));
    this.#dropEvents.run(actor);
    this.#drop.run(actor);
  }

  beforeCommit(): void {}

  committed(): void {}

  /** Rows that the group made are gone. */
  rolledBack(): void {
    this.#known.clear();
  }

  #idOf(partition: PartitionState, address: Address): number | undefined {
    const known = this.#known.get(keyOf(partition, address));
    if (known !== undefined) return known;
    const row = this.#find.get(partition.id, address);
    return row === undefined ? undefined : this.#know(partition, address, integer(row, 'id'));
  }

  #create(partition: PartitionState, address: Address, record: string | null): number {
    const { changes, lastInsertRowid } = this.#insert.run(partition.id, address, record);
    if (changes === 1) return this.#know(partition, address, Number(lastInsertRowid));
    const row = this.#put.get(partition.id, address, record);
    if (row === undefined) throw new Error(`actor ${address} was not stored`);
    return this.#know(partition, address, integer(row, 'id'));
  }

  #know(partition: PartitionState, address: Address, id: number): number {
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(keyOf(partition, address), id);
    return id;
  }
}

const keyOf = ({ id }: PartitionState, address: Address): string => `${id}/${address}`;

/** The journal: one row for each commit. The entries that it handled are read from the mailbox. */
export class JournalTable {
  readonly #book: PartitionBook;
  readonly #mailbox: MailboxTable;
  readonly #sweep: Sweep;
  readonly #insert;
  readonly #row;
  #lastKey: number;

  constructor(database: DatabaseSync, book: PartitionBook, mailbox: MailboxTable, sweep: Sweep) {
    this.#book = book;
    this.#mailbox = mailbox;
    this.#sweep = sweep;
    this.#insert = database.prepare('INSERT INTO journal (key, partition, after, up_to, row) VALUES (?, ?, ?, ?, ?)');
    this.#row = database.prepare('SELECT row FROM journal WHERE key = ?');
    const last = database.prepare('SELECT ifnull(max(key), 0) AS key FROM journal').get();
    this.#lastKey = last === undefined ? 0 : integer(last, 'key');
  }

  append(state: PartitionState, after: number, upTo: number, row: string): void {
    this.#book.change(state);
    this.#lastKey += 1;
    this.#insert.run(this.#lastKey, state.id, after, upTo, row);
    state.journal.push({ key: this.#lastKey, after, upTo });
  }

  read(state: PartitionState, after: number, limit: number): JournalRow[] {
    const from = Math.max(after, state.trimmed);
    const rows: JournalRow[] = [];
    for (const row of state.journal) {
      if (row.upTo <= from) continue;
      if (rows.length >= limit) break;
      rows.push(this.#withEntries(state, row));
    }
    return rows;
  }

  #withEntries(state: PartitionState, { key, after, upTo }: PartitionState['journal'][number]): JournalRow {
    const row = this.#row.get(key);
    if (row === undefined) throw new Error(`journal row ${upTo} of ${state.name} is not in the data file`);
    const [from, to] = [Math.max(after, Math.floor(state.trimmed)), Math.floor(upTo)];
    return { upTo, row: text(row, 'row'), entries: this.#mailbox.read(state, from, to, to - from) };
  }

  /** Marks rows and entries as trimmed. The sweep deletes them. */
  trim(state: PartitionState, upTo: number): void {
    const reached = Math.min(upTo, state.position);
    if (reached <= state.trimmed) return;
    this.#book.changeRow(state);
    state.trimmed = reached;
    this.#sweep.add(state);
  }
}
