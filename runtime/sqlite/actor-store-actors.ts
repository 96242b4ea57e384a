import type { DatabaseSync } from 'node:sqlite';
import type { EventAppend, JournalRow } from '../actor-store.ts';
import { type Address, addressOf, type Partition, parseAddress } from '../address.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import { emptyPartition, type PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import type { Sweep } from './actor-store-sweep.ts';
import { integer, position, text, textOrNull } from './database.ts';

/** Actor records and event streams. */
export class ActorTable {
  readonly #put;
  readonly #clear;
  readonly #dropEmpty;
  readonly #record;
  readonly #recorded;
  readonly #find;
  readonly #create;
  readonly #drop;
  readonly #addEvent;
  readonly #dropEvents;
  readonly #events;

  constructor(database: DatabaseSync) {
    this.#put = database.prepare(
      `INSERT INTO actors (partition, address, record) VALUES (?, ?, ?)
       ON CONFLICT (partition, address) DO UPDATE SET record = excluded.record`,
    );
    this.#clear = database.prepare('UPDATE actors SET record = NULL WHERE partition = ? AND address = ?');
    this.#dropEmpty = database.prepare(
      `DELETE FROM actors WHERE partition = ? AND address = ?
       AND NOT EXISTS (SELECT 1 FROM events WHERE actor = actors.id)`,
    );
    this.#record = database.prepare('SELECT record FROM actors WHERE partition = ? AND address = ?');
    this.#recorded = database.prepare('SELECT address FROM actors WHERE partition = ? AND record IS NOT NULL');
    this.#find = database.prepare('SELECT id FROM actors WHERE partition = ? AND address = ?');
    this.#create = database.prepare('INSERT INTO actors (partition, address) VALUES (?, ?) RETURNING id');
    this.#drop = database.prepare('DELETE FROM actors WHERE id = ?');
    this.#addEvent = database.prepare('INSERT INTO events (actor, seq, data) VALUES (?, ?, ?)');
    this.#dropEvents = database.prepare('DELETE FROM events WHERE actor = ?');
    this.#events = database.prepare('SELECT seq, data FROM events WHERE actor = ? AND seq > ? ORDER BY seq LIMIT ?');
  }

  write(partition: PartitionState, address: Address, record: string | null): void {
    if (record !== null) {
      this.#put.run(partition.id, address, record);
      return;
    }
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

  append(partition: PartitionState, { address, first, data }: EventAppend): void {
    const actor = this.#idOf(partition, address) ?? this.#new(partition, address);
    for (const [n, each] of data.entries()) this.#addEvent.run(actor, first + n, each);
  }

  events(partition: PartitionState, address: Address, after: number, limit: number) {
    const actor = this.#idOf(partition, address);
    if (actor === undefined) return [];
    return this.#events.all(actor, after, limit).map((row) => ({ seq: integer(row, 'seq'), data: text(row, 'data') }));
  }

  forget(partition: PartitionState, address: Address): void {
    const actor = this.#idOf(partition, address);
    if (actor === undefined) return;
    this.#dropEvents.run(actor);
    this.#drop.run(actor);
  }

  #idOf(partition: PartitionState, address: Address): number | undefined {
    const row = this.#find.get(partition.id, address);
    return row === undefined ? undefined : integer(row, 'id');
  }

  #new(partition: PartitionState, address: Address): number {
    const row = this.#create.get(partition.id, address);
    if (row === undefined) throw new Error(`actor ${address} was not stored`);
    return integer(row, 'id');
  }
}

/** One row a commit; the entries it handled are read from the mailbox. */
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

  /** Forgets rows and entries; the sweep deletes them. */
  trim(state: PartitionState, upTo: number): void {
    const reached = Math.min(upTo, state.position);
    if (reached <= state.trimmed) return;
    this.#book.changeRow(state);
    state.trimmed = reached;
    this.#sweep.add(state);
  }
}

/** Reads what is held of each partition in memory. Costs one pass over what the journal and the sweep have left. */
export function loadPartitions(database: DatabaseSync): Map<Partition, PartitionState> {
  const byId = new Map<number, PartitionState>();
  for (const row of database.prepare('SELECT * FROM partitions').iterate()) {
    const id = integer(row, 'id');
    const state = emptyPartition(id, partitionNamed(text(row, 'name')), {
      tail: integer(row, 'tail'),
      cursor: integer(row, 'cursor'),
      position: Math.max(integer(row, 'cursor'), position(row, 'trimmed')),
      trimmed: position(row, 'trimmed'),
      epoch: integer(row, 'epoch'),
      grant: textOrNull(row, 'lease_grant'),
      node: textOrNull(row, 'lease_node'),
      until: integer(row, 'lease_until'),
    });
    byId.set(id, state);
  }
  loadEntries(database, byId);
  for (const row of database.prepare('SELECT key, partition, after, up_to FROM journal ORDER BY key').iterate()) {
    const place = { key: integer(row, 'key'), after: integer(row, 'after'), upTo: position(row, 'up_to') };
    const state = byId.get(integer(row, 'partition'));
    if (state === undefined) continue;
    state.journal.push(place);
    state.position = Math.max(state.position, place.upTo);
  }
  for (const row of database.prepare('SELECT partition, address, count FROM waiting').iterate()) {
    byId.get(integer(row, 'partition'))?.waiting.set(text(row, 'address'), integer(row, 'count'));
  }
  return new Map([...byId.values()].map((state) => [state.name, state]));
}

/** A partition's entries come in the order of their numbers, since keys are given in that order. */
function loadEntries(database: DatabaseSync, byId: ReadonlyMap<number, PartitionState>): void {
  const entries = database.prepare('SELECT key, partition, seq, at, id FROM mailbox ORDER BY key');
  for (const row of entries.iterate()) {
    const state = byId.get(integer(row, 'partition'));
    if (state === undefined) continue;
    const seq = integer(row, 'seq');
    if (state.keys.length === 0) state.base = seq - 1;
    state.keys.push(integer(row, 'key'));
    state.tail = Math.max(state.tail, seq);
    const id = textOrNull(row, 'id');
    if (id !== null) state.seen.set(id, { seq, at: integer(row, 'at') });
  }
}

export function partitionNamed(stored: string): Partition {
  const colon = stored.lastIndexOf(':');
  return `${stored.slice(0, colon)}:${Number(stored.slice(colon + 1))}`;
}
