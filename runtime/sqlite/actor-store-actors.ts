import type { DatabaseSync } from 'node:sqlite';
import type { EventAppend, JournalRow } from '../actor-store.ts';
import { type Address, asAddress } from '../address.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import type { Sweep } from './actor-store-sweep.ts';
import { integer, LIMIT, text, textOrNull } from './database.ts';
import type { GroupMember } from './group-commit.ts';

/** Number of actors whose row numbers are in memory. */
const MOST_KNOWN = 4_096;

/** Most characters of their records and events in memory. Most of these texts are in the cache of actors anyway. */
const MOST_CHARS = 2_000_000;

/** Most events in one row, and most characters of rows with several. A run that ends at once has five. */
const MOST_TOGETHER = 16;

const CHARS_TOGETHER = 16_384;

/** Stores actor records and event streams. */
export class ActorTable implements GroupMember {
  readonly #known = new KnownActors();
  readonly #put;
  readonly #update;
  readonly #clear;
  readonly #dropEmpty;
  readonly #record;
  readonly #recorded;
  readonly #count;
  readonly #id;
  readonly #drop;
  readonly #insert;
  readonly #events: EventTable;

  constructor(database: DatabaseSync) {
    this.#events = new EventTable(database);
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
    this.#id = database.prepare('SELECT id FROM actors WHERE partition = ? AND address = ?');
    this.#drop = database.prepare('DELETE FROM actors WHERE id = ?');
    // Without RETURNING and its row it takes half the time.
    this.#insert = database.prepare(
      'INSERT INTO actors (partition, address, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    );
  }

  write(partition: PartitionState, address: Address, record: string | null): void {
    if (record === null) {
      this.#known.drop(partition.id, address);
      this.#clear.run(partition.id, address);
      this.#dropEmpty.run(partition.id, address);
      return;
    }
    const known = this.#known.find(partition.id, address);
    if (known !== undefined) this.#update.run(record, known.id);
    this.#known.wrote(known ?? this.#create(partition, address, record), record);
  }

  load(partition: PartitionState, address: Address): string | null {
    const known = this.#known.find(partition.id, address)?.record;
    if (known !== undefined) return known;
    const row = this.#record.get(partition.id, address);
    return row === undefined ? null : textOrNull(row, 'record');
  }

  recorded(partition: PartitionState): Address[] {
    return this.#recorded.all(partition.id).map((row) => asAddress(text(row, 'address')));
  }

  count(partition: PartitionState): number {
    const row = this.#count.get(partition.id);
    return row === undefined ? 0 : integer(row, 'actors');
  }

  append(partition: PartitionState, { address, first, data }: EventAppend): void {
    const actor = this.#find(partition, address) ?? this.#create(partition, address, null);
    this.#events.append(actor.id, first, data);
    this.#known.appended(actor, first, data);
  }

  events(partition: PartitionState, address: Address, after: number, limit: number): StoredEvent[] {
    const actor = this.#find(partition, address);
    if (actor === undefined) return [];
    return actor.eventsAfter(after, limit) ?? this.#events.read(actor.id, after, limit);
  }

  forget(partition: PartitionState, address: Address): void {
    const actor = this.#find(partition, address);
    if (actor === undefined) return;
    this.#known.drop(partition.id, address);
    this.#events.drop(actor.id);
    this.#drop.run(actor.id);
  }

  beforeCommit(): void {}

  committed(): void {}

  /** Rows that the group made are gone. */
  rolledBack(): void {
    this.#known.clear();
  }

  #find(partition: PartitionState, address: Address): KnownActor | undefined {
    const known = this.#known.find(partition.id, address);
    if (known !== undefined) return known;
    const row = this.#id.get(partition.id, address);
    return row === undefined ? undefined : this.#known.add(partition.id, address, integer(row, 'id'));
  }

  #create(partition: PartitionState, address: Address, record: string | null): KnownActor {
    const { changes, lastInsertRowid } = this.#insert.run(partition.id, address, record);
    if (changes === 1) return this.#known.add(partition.id, address, Number(lastInsertRowid));
    const row = this.#put.get(partition.id, address, record);
    if (row === undefined) throw new Error(`actor ${address} was not stored`);
    return this.#known.add(partition.id, address, integer(row, 'id'));
  }
}

interface StoredEvent {
  readonly seq: number;
  readonly data: string;
}

/**
 * Event streams. The events of one commit share rows: the number of the last one, all texts without separators, and their lengths
 * with commas between them. Rows of formats 1 to 6 have one event and no lengths.
 */
class EventTable {
  readonly #insert;
  readonly #drop;
  readonly #select;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare('INSERT INTO events (actor, seq, data, lengths) VALUES (?, ?, ?, ?)');
    this.#drop = database.prepare('DELETE FROM events WHERE actor = ?');
    this.#select = database.prepare(
      `SELECT seq, data, lengths FROM events WHERE actor = ? AND seq > ? ORDER BY seq ${LIMIT}`,
    );
  }

  /** `first`: number of the first of these events. */
  append(actor: number, first: number, data: readonly string[]): void {
    for (let from = 0; from < data.length; ) {
      const to = endOfRow(data, from);
      const some = from === 0 && to === data.length ? data : data.slice(from, to);
      const lengths = some.length === 1 ? null : some.map(({ length }) => length).join(',');
      this.#insert.run(actor, first + to - 1, some.length === 1 ? (some[0] ?? '') : some.join(''), lengths);
      from = to;
    }
  }

  /** The first `limit` events behind `after`. */
  read(actor: number, after: number, limit: number): StoredEvent[] {
    const events: StoredEvent[] = [];
    for (const row of this.#select.iterate(actor, after, limit)) {
      const data = eventsIn(text(row, 'data'), textOrNull(row, 'lengths'));
      const first = integer(row, 'seq') - data.length + 1;
      for (const [index, one] of data.entries()) {
        if (events.length < limit && first + index > after) events.push({ seq: first + index, data: one });
      }
      if (events.length >= limit) break;
    }
    return events;
  }

  drop(actor: number): void {
    this.#drop.run(actor);
  }
}

/** Where the row ends that begins with the event at `from`. */
function endOfRow(data: readonly string[], from: number): number {
  let chars = data[from]?.length ?? 0;
  let to = from + 1;
  for (const most = Math.min(data.length, from + MOST_TOGETHER); to < most; to += 1) {
    chars += data[to]?.length ?? 0;
    if (chars > CHARS_TOGETHER) break;
  }
  return to;
}

function eventsIn(data: string, lengths: string | null): string[] {
  if (lengths === null) return [data];
  let from = 0;
  return lengths.split(',').map((length) => {
    const to = from + Number(length);
    const one = data.slice(from, to);
    from = to;
    return one;
  });
}

/** The row of an actor, as far as this process wrote or read it. */
class KnownActor {
  /** Its row number, under which its events are. */
  readonly id: number;
  /** Its record. Undefined: read it. */
  record: string | undefined = undefined;
  /** Its last events, the first of them with the number `first`. */
  readonly events: string[] = [];
  first = 0;

  constructor(id: number) {
    this.id = id;
  }

  forgetTexts(): void {
    this.record = undefined;
    this.events.length = 0;
  }

  /** The events behind `after`. Null: read them. */
  eventsAfter(after: number, limit: number): StoredEvent[] | null {
    const { first, events } = this;
    if (events.length === 0 || after + 1 < first) return null;
    const from = after + 1 - first;
    return events.slice(from, from + limit).map((data, index) => ({ seq: after + 1 + index, data }));
  }
}

/**
 * Rows of actors in memory, by partition and address: each commit of an actor needs its row number, and a run that ends at once
 * is read by its follower and by the archive right after its commit.
 */
export class KnownActors {
  readonly #partitions = new Map<number, Map<Address, KnownActor>>();
  #size = 0;
  #chars = 0;

  find(partition: number, address: Address): KnownActor | undefined {
    return this.#partitions.get(partition)?.get(address);
  }

  add(partition: number, address: Address, id: number): KnownActor {
    if (this.#size >= MOST_KNOWN) this.clear();
    const actor = new KnownActor(id);
    let actors = this.#partitions.get(partition);
    if (actors === undefined) {
      actors = new Map();
      this.#partitions.set(partition, actors);
    }
    this.drop(partition, address);
    actors.set(address, actor);
    this.#size += 1;
    return actor;
  }

  /** Notes the record that was written. */
  wrote(actor: KnownActor, record: string): void {
    const before = actor.record?.length ?? 0;
    actor.record = record;
    this.#count(record.length - before);
  }

  /** Notes events that were written. */
  appended(actor: KnownActor, first: number, data: readonly string[]): void {
    let chars = 0;
    if (actor.first + actor.events.length !== first) {
      for (const old of actor.events) chars -= old.length;
      actor.events.length = 0;
      actor.first = first;
    }
    for (const each of data) {
      actor.events.push(each);
      chars += each.length;
    }
    this.#count(chars);
  }

  drop(partition: number, address: Address): void {
    const actors = this.#partitions.get(partition);
    const actor = actors?.get(address);
    if (actors === undefined || actor === undefined) return;
    actors.delete(address);
    this.#size -= 1;
    this.#chars -= charsOf(actor);
  }

  clear(): void {
    this.#partitions.clear();
    this.#size = 0;
    this.#chars = 0;
  }

  /** Forgets all texts when they are too long together. */
  #count(chars: number): void {
    this.#chars += chars;
    if (this.#chars <= MOST_CHARS) return;
    for (const actors of this.#partitions.values()) for (const actor of actors.values()) actor.forgetTexts();
    this.#chars = 0;
  }
}

const charsOf = ({ record, events }: KnownActor): number =>
  events.reduce((sum, one) => sum + one.length, record?.length ?? 0);

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
