import type { DatabaseSync } from 'node:sqlite';
import type { TimerSet, Unsubscribe } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import { text } from './database.ts';
import type { GroupMember } from './group-commit.ts';

/** Listeners by topic. */
export class Topic<Call extends (...details: never[]) => void> {
  readonly #listeners = new Map<string, Set<Call>>();

  subscribe(key: string, call: Call): Unsubscribe {
    const calls = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, calls);
    calls.add(call);
    return () => {
      calls.delete(call);
      if (calls.size === 0 && this.#listeners.get(key) === calls) this.#listeners.delete(key);
    };
  }

  of(key: string): Iterable<Call> {
    return this.#listeners.get(key) ?? [];
  }

  keys(): string[] {
    return [...this.#listeners.keys()];
  }
}

const EVERYBODY = '';

/** Gathers what a group has to tell inside the process, and tells it after the commit, never before. */
export class Notices implements GroupMember {
  readonly bells = new Topic<(partition: Partition) => void>();
  readonly replies = new Topic<(messageId: string, body: string) => void>();
  readonly events = new Topic<() => void>();
  readonly #cancels = new Topic<(id: string) => void>();
  readonly #rung = new Set<PartitionState>();
  readonly #woken = new Set<Address>();
  #answered: { readonly session: string; readonly messageId: string; readonly body: string }[] = [];
  #cancelled: string[] = [];

  onCancel(stop: (id: string) => void): Unsubscribe {
    return this.#cancels.subscribe(EVERYBODY, stop);
  }

  entry(partition: PartitionState): void {
    this.#rung.add(partition);
  }

  event(address: Address): void {
    this.#woken.add(address);
  }

  reply(reply: { readonly session: string; readonly messageId: string; readonly body: string }): void {
    this.#answered.push(reply);
  }

  cancel(effect: string): void {
    this.#cancelled.push(effect);
  }

  beforeCommit(): void {}

  committed(): void {
    const [rung, woken] = [[...this.#rung], [...this.#woken]];
    const [answered, cancelled] = [this.#answered, this.#cancelled];
    this.rolledBack();
    for (const { node, name } of rung) if (node !== null) for (const ring of this.bells.of(node)) ring(name);
    for (const { session, messageId, body } of answered) {
      for (const receive of this.replies.of(session)) receive(messageId, body);
    }
    for (const address of woken) for (const wake of this.events.of(address)) wake();
    for (const id of cancelled) for (const stop of this.#cancels.of(EVERYBODY)) stop(id);
  }

  rolledBack(): void {
    this.#rung.clear();
    this.#woken.clear();
    this.#answered = [];
    this.#cancelled = [];
  }
}

/** Timers one call fires in a partition; the rest is due at once, so the caller comes again. */
const FIRE_LIMIT = 512;

/** Timers, judged on the store's clock; due ones become mailbox entries. */
export class TimerTable {
  readonly #book: PartitionBook;
  readonly #mailbox: MailboxTable;
  readonly #set;
  readonly #clear;
  readonly #due;
  readonly #any;

  constructor(database: DatabaseSync, book: PartitionBook, mailbox: MailboxTable) {
    this.#book = book;
    this.#mailbox = mailbox;
    this.#set = database.prepare('INSERT OR REPLACE INTO timers (partition, id, due, body) VALUES (?, ?, ?, ?)');
    this.#any = database.prepare('SELECT 1 FROM timers LIMIT 1');
    this.#clear = database.prepare('DELETE FROM timers WHERE partition = ? AND id = ?');
    this.#due = database.prepare(
      'SELECT id, body FROM timers WHERE partition = ? AND due <= ? ORDER BY due, id LIMIT ?',
    );
  }

  /** In any partition. */
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

  fire(state: PartitionState, now: number): void {
    for (const row of this.#due.all(state.id, now, FIRE_LIMIT)) {
      this.#mailbox.deliver(state, text(row, 'body'), now);
      this.clear(state, text(row, 'id'));
    }
  }
}
