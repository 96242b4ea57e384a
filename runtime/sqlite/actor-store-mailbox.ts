import type { DatabaseSync } from 'node:sqlite';
import type { AppendOutcome, Backlog, Lease, Unread } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Delivery, MailboxEntry } from '../message.ts';
import type { Notices } from './actor-store-notices.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import { forgetSeen, type Sweep } from './actor-store-sweep.ts';
import { integer, text } from './database.ts';
import type { GroupMember } from './group-commit.ts';

/** Most characters of unread entries that are in memory. */
const MOST_UNREAD_CHARS = 4_000_000;

/** Most waiting entries that one call reads for a list: they are read on the thread that runs the turns. */
const MOST_LOOKED_AT = 1_000;

/** Mailboxes: entries, the duplicate check of client messages, and recorded replies. */
export class MailboxTable implements GroupMember {
  readonly #book: PartitionBook;
  readonly #notices: Notices;
  readonly #sweep: Sweep;
  readonly #insert;
  readonly #entry;
  readonly #reply;
  readonly #record;
  #lastKey: number;
  /** New entries by key until they are first read, mostly right after the append. */
  readonly #unread = new Map<number, { readonly at: number; readonly body: string }>();
  #unreadChars = 0;
  /** When the newest entry was written, at the opening of the file; 0 without an entry. */
  readonly lastAt: number;

  constructor(database: DatabaseSync, book: PartitionBook, notices: Notices, sweep: Sweep) {
    this.#book = book;
    this.#notices = notices;
    this.#sweep = sweep;
    this.#insert = database.prepare(
      'INSERT INTO mailbox (key, partition, seq, at, id, body) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#entry = database.prepare('SELECT at, body FROM mailbox WHERE key = ?');
    this.#reply = database.prepare('SELECT body FROM replies WHERE key = ?');
    this.#record = database.prepare('INSERT OR REPLACE INTO replies (key, body) VALUES (?, ?)');
    const last = database.prepare('SELECT key, at FROM mailbox ORDER BY key DESC LIMIT 1').get();
    this.#lastKey = last === undefined ? 0 : integer(last, 'key');
    this.lastAt = last === undefined ? 0 : integer(last, 'at');
  }

  append(
    partition: Partition,
    deliveries: readonly Delivery[],
    bound: number,
    now: number,
    sent: number,
  ): AppendOutcome[] {
    const state = this.#book.get(partition);
    forgetSeen(state, now);
    this.#sweep.add(state);
    return deliveries.map((delivery) => this.#appendOne(state, delivery, bound, now, sent));
  }

  #appendOne(
    state: PartitionState,
    { id, to, body }: Delivery,
    bound: number,
    now: number,
    sent: number,
  ): AppendOutcome {
    const seen = state.seen.get(id);
    if (seen !== undefined) return { kind: 'duplicate', reply: this.#replyTo(state, seen.seq) };
    if (sent < now && sent <= state.forgottenAt) return { kind: 'late' };
    const depth = state.waiting.get(to) ?? 0;
    if (depth >= bound) return { kind: 'full', depth };
    const seq = this.#putOnce(state, id, body, now);
    this.#book.recount(state, to, 1);
    return { kind: 'accepted', seq };
  }

  /** Appends a message of an effect's progress once. */
  deliverOnce(state: PartitionState, { id, body }: Delivery, now: number): void {
    if (!state.seen.has(id)) this.#putOnce(state, id, body, now);
  }

  #putOnce(state: PartitionState, id: string, body: string, now: number): number {
    const seq = this.#put(state, id, body, now);
    this.#notices.entry(state);
    state.seen.set(id, { seq, at: now });
    this.#book.change(state).newIds.push(id);
    return seq;
  }

  /** Appends a message that does not come from a client: it is always accepted and not counted. */
  deliver(state: PartitionState, body: string, now: number, quietly = false): void {
    this.#put(state, null, body, now);
    if (!quietly) this.#notices.entry(state);
  }

  #put(state: PartitionState, id: string | null, body: string, now: number): number {
    this.#book.change(state);
    const seq = state.tail + 1;
    // A key is used once, also when its group is rolled back.
    this.#lastKey += 1;
    this.#insert.run(this.#lastKey, state.id, seq, now, id, body);
    state.keys.push(this.#lastKey);
    state.tail = seq;
    if (this.#unreadChars + body.length > MOST_UNREAD_CHARS) this.#forgetUnread();
    this.#unread.set(this.#lastKey, { at: now, body });
    this.#unreadChars += body.length;
    return seq;
  }

  beforeCommit(): void {}

  committed(): void {}

  /** Entries of the group are gone. Those of other groups are read from the file. */
  rolledBack(): void {
    this.#forgetUnread();
  }

  #forgetUnread(): void {
    this.#unread.clear();
    this.#unreadChars = 0;
  }

  #take(key: number): { readonly at: number; readonly body: string } | undefined {
    const unread = this.#unread.get(key);
    if (unread !== undefined) {
      this.#unread.delete(key);
      this.#unreadChars -= unread.body.length;
      return unread;
    }
    return this.#readEntry(key);
  }

  #readEntry(key: number): { readonly at: number; readonly body: string } | undefined {
    const row = this.#entry.get(key);
    return row === undefined ? undefined : { at: integer(row, 'at'), body: text(row, 'body') };
  }

  /** Entries behind `after` up to and including `upTo`, oldest first. */
  read(state: PartitionState, after: number, upTo: number, limit: number): MailboxEntry[] {
    return this.#entries(state, after, Math.min(upTo, after + limit), (key) => this.#take(key));
  }

  #entries(
    state: PartitionState,
    after: number,
    last: number,
    entryOf: (key: number) => { readonly at: number; readonly body: string } | undefined,
  ): MailboxEntry[] {
    const entries: MailboxEntry[] = [];
    for (let seq = Math.max(after, state.base) + 1; seq <= last; seq++) {
      const key = state.keys[seq - state.base - 1];
      const entry = key === undefined ? undefined : entryOf(key);
      if (entry === undefined) throw new Error(`entry ${seq} of ${state.name} is not in the data file`);
      entries.push({ seq, at: entry.at, body: entry.body });
    }
    return entries;
  }

  poll(lease: Lease, after: number, limit: number): MailboxEntry[] | null {
    const state = this.#book.held(lease);
    if (state === undefined || state.cursor < after) return null;
    const from = Math.max(after, state.base);
    return this.read(state, from, state.tail, limit);
  }

  depth(partition: Partition, address: Address): number {
    return this.#book.find(partition)?.waiting.get(address) ?? 0;
  }

  backlog(partition: Partition): Backlog {
    const state = this.#book.find(partition);
    if (state === undefined) return { cursor: 0, tail: 0, oldestAt: null };
    const [oldest] = this.read(state, state.cursor, state.tail, 1);
    return { cursor: state.cursor, tail: state.tail, oldestAt: oldest?.at ?? null };
  }

  /** The messages stay in memory for the reader of the mailbox. */
  unread(partition: Partition, after: number, limit: number): Unread {
    const state = this.#book.find(partition);
    if (state === undefined) return { entries: [], next: null };
    const from = Math.max(after, state.cursor);
    const last = Math.min(state.tail, from + Math.min(limit, MOST_LOOKED_AT));
    const entries = this.#entries(state, from, last, (key) => this.#unread.get(key) ?? this.#readEntry(key));
    return { entries, next: last < state.tail ? last : null };
  }

  recall(partition: Partition, messageId: string): string | null {
    const state = this.#book.find(partition);
    const seen = state?.seen.get(messageId);
    return state === undefined || seen === undefined ? null : this.#replyTo(state, seen.seq);
  }

  /**
   * Records the answer to a client message whose id is still remembered. The time for which it is remembered starts
   * again.
   */
  record(state: PartitionState, messageId: string, body: string, now: number): void {
    const seen = state.seen.get(messageId);
    const key = seen === undefined ? undefined : state.keys[seen.seq - state.base - 1];
    if (seen === undefined || key === undefined) return;
    this.#record.run(key, body);
    // Replacing a value keeps the order of the map, which is by number.
    state.seen.set(messageId, { seq: seen.seq, at: now });
  }

  #replyTo(state: PartitionState, seq: number): string | null {
    const key = state.keys[seq - state.base - 1];
    const row = key === undefined ? undefined : this.#reply.get(key);
    return row === undefined ? null : text(row, 'body');
  }
}
