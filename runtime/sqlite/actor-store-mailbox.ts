import type { DatabaseSync } from 'node:sqlite';
import type { AppendOutcome, Backlog, Delivery, MailboxEntry } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Notices } from './actor-store-notices.ts';
import { forgetSeen, type PartitionBook, type PartitionState } from './actor-store-partitions.ts';
import { keyOf, seqOf } from './actor-store-schema.ts';
import { integer, text } from './columns.ts';

/** Rows one sweep deletes, so that no group takes long. */
const SWEEP_LIMIT = 4_096;

/** Mailboxes: entries, the duplicate check of client messages, recorded replies. */
export class MailboxTable {
  readonly #book: PartitionBook;
  readonly #notices: Notices;
  readonly #insert;
  readonly #behind;
  readonly #reply;
  readonly #record;
  readonly #sweepEntries;
  readonly #sweepReplies;
  /** Partitions in which something may be old enough to be swept. */
  readonly #sweepable = new Set<Partition>();

  constructor(database: DatabaseSync, book: PartitionBook, notices: Notices) {
    this.#book = book;
    this.#notices = notices;
    this.#insert = database.prepare('INSERT INTO mailbox (key, at, id, body) VALUES (?, ?, ?, ?)');
    this.#behind = database.prepare(
      'SELECT key, at, body FROM mailbox WHERE key > ? AND key <= ? ORDER BY key LIMIT ?',
    );
    this.#reply = database.prepare('SELECT body FROM replies WHERE key = ?');
    this.#record = database.prepare('INSERT OR REPLACE INTO replies (key, body) VALUES (?, ?)');
    this.#sweepEntries = database.prepare('DELETE FROM mailbox WHERE key > ? AND key <= ?');
    this.#sweepReplies = database.prepare('DELETE FROM replies WHERE key > ? AND key <= ?');
  }

  append(partition: Partition, deliveries: readonly Delivery[], bound: number, now: number): AppendOutcome[] {
    const state = this.#book.get(partition);
    forgetSeen(state, now);
    this.#sweepable.add(partition);
    return deliveries.map((delivery) => this.#appendOne(state, delivery, bound, now));
  }

  #appendOne(state: PartitionState, { id, to, body }: Delivery, bound: number, now: number): AppendOutcome {
    const seen = state.seen.get(id);
    if (seen !== undefined) return { kind: 'duplicate', reply: this.#replyTo(state, seen.seq) };
    const depth = state.waiting.get(to) ?? 0;
    if (depth >= bound) return { kind: 'full', depth };
    const seq = this.#put(state, id, body, now);
    state.seen.set(id, { seq, at: now });
    this.#book.recount(state, to, 1);
    return { kind: 'accepted', seq };
  }

  /** Appends a message that is not a client's: always accepted, not counted. */
  deliver(state: PartitionState, body: string, now: number): void {
    this.#put(state, null, body, now);
  }

  #put(state: PartitionState, id: string | null, body: string, now: number): number {
    const seq = state.tail + 1;
    this.#insert.run(keyOf(state.id, seq), now, id, body);
    state.tail = seq;
    this.#notices.entry(state);
    return seq;
  }

  /** Entries behind `after` up to and with `upTo`. */
  read(state: PartitionState, after: number, upTo: number, limit: number): MailboxEntry[] {
    if (upTo <= after || limit <= 0) return [];
    return this.#behind.all(keyOf(state.id, after), keyOf(state.id, upTo), limit).map((row) => ({
      seq: seqOf(integer(row, 'key')),
      at: integer(row, 'at'),
      body: text(row, 'body'),
    }));
  }

  poll(partition: Partition, after: number, limit: number): MailboxEntry[] {
    const state = this.#book.find(partition);
    return state === undefined ? [] : this.read(state, after, state.tail, limit);
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

  recall(partition: Partition, messageId: string): string | null {
    const state = this.#book.find(partition);
    const seen = state?.seen.get(messageId);
    return state === undefined || seen === undefined ? null : this.#replyTo(state, seen.seq);
  }

  /** Records the answer to a client message that is still remembered. */
  record(state: PartitionState, messageId: string, body: string): void {
    const seen = state.seen.get(messageId);
    if (seen !== undefined) this.#record.run(keyOf(state.id, seen.seq), body);
  }

  #replyTo(state: PartitionState, seq: number): string | null {
    const row = this.#reply.get(keyOf(state.id, seq));
    return row === undefined ? null : text(row, 'body');
  }

  get sweepable(): boolean {
    return this.#sweepable.size > 0;
  }

  /** Deletes, in every partition that needs it, what is both trimmed and forgotten. */
  sweep(now: number): void {
    for (const partition of [...this.#sweepable]) this.sweepOne(this.#book.get(partition), now);
  }

  sweepOne(state: PartitionState, now: number): void {
    const upTo = Math.min(forgetSeen(state, now), state.trimmed, state.swept + SWEEP_LIMIT);
    if (upTo > state.swept) {
      const range = [keyOf(state.id, state.swept), keyOf(state.id, upTo)] as const;
      this.#sweepEntries.run(...range);
      this.#sweepReplies.run(...range);
      state.swept = upTo;
      this.#book.touch(state);
    }
    if (state.seen.size === 0 && state.swept >= state.trimmed) this.#sweepable.delete(state.name);
    else this.#sweepable.add(state.name);
  }
}
