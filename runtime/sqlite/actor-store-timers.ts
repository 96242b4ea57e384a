import type { DatabaseSync } from 'node:sqlite';
import type { TimerSet } from '../actor-store.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import { integer, LIMIT, text } from './database.ts';

/** Most timers that one call fires in a partition. The rest is due at once, so the caller calls again. */
const FIRE_LIMIT = 512;

/** Timers on the store's clock. Due ones become mailbox entries. */
export class TimerTable {
  readonly #book: PartitionBook;
  readonly #mailbox: MailboxTable;
  readonly #set;
  readonly #clear;
  readonly #due;
  readonly #any;
  readonly #one;

  constructor(database: DatabaseSync, book: PartitionBook, mailbox: MailboxTable) {
    this.#book = book;
    this.#mailbox = mailbox;
    this.#set = database.prepare('INSERT OR REPLACE INTO timers (partition, id, due, body) VALUES (?, ?, ?, ?)');
    this.#any = database.prepare('SELECT 1 FROM timers LIMIT 1');
    this.#clear = database.prepare('DELETE FROM timers WHERE partition = ? AND id = ?');
    this.#one = database.prepare('SELECT due FROM timers WHERE partition = ? AND id = ?');
    this.#due = database.prepare(
      `SELECT id, body FROM timers WHERE partition = ? AND due <= ? ORDER BY due, id ${LIMIT}`,
    );
  }

  /** Whether a timer is set in any partition. */
  isAnySet(): boolean {
    return this.#any.get() !== undefined;
  }

  set(state: PartitionState, timer: TimerSet, now: number): void {
    this.#book.change(state);
    this.#set.run(state.id, timer.id, now + timer.afterMs, timer.delivery.body);
    state.nextTimerAt = undefined;
  }

  clear(state: PartitionState, id: string): void {
    this.#book.change(state);
    this.#clear.run(state.id, id);
    state.nextTimerAt = undefined;
  }

  isDue(state: PartitionState, now: number): boolean {
    const next = this.#book.nextTimerAt(state);
    return next !== null && next <= now;
  }

  dueAt(state: PartitionState, id: string): number | null {
    const row = this.#one.get(state.id, id);
    return row === undefined ? null : integer(row, 'due');
  }

  fire(state: PartitionState, now: number): void {
    for (const row of this.#due.all(state.id, now, FIRE_LIMIT)) {
      this.#mailbox.deliver(state, text(row, 'body'), now);
      this.clear(state, text(row, 'id'));
    }
  }
}
