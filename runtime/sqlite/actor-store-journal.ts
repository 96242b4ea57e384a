import type { DatabaseSync } from 'node:sqlite';
import type { JournalRow } from '../actor-store.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { PartitionBook, PartitionState } from './actor-store-partitions.ts';
import { integer, type Row, text } from './columns.ts';

/** One row a commit; the entries it handled are read from the mailbox. */
export class JournalTable {
  readonly #book: PartitionBook;
  readonly #mailbox: MailboxTable;
  readonly #insert;
  readonly #last;
  readonly #behind;
  readonly #rest;
  readonly #trim;

  constructor(database: DatabaseSync, book: PartitionBook, mailbox: MailboxTable) {
    this.#book = book;
    this.#mailbox = mailbox;
    this.#insert = database.prepare('INSERT INTO journal (partition, up_to, n, after, row) VALUES (?, ?, ?, ?, ?)');
    this.#last = database.prepare('SELECT max(n) AS n FROM journal WHERE partition = ? AND up_to = ?');
    this.#behind = database.prepare(
      'SELECT up_to, n, after, row FROM journal WHERE partition = ? AND up_to > ? ORDER BY up_to, n LIMIT ?',
    );
    this.#rest = database.prepare(
      'SELECT up_to, n, after, row FROM journal WHERE partition = ? AND up_to = ? AND n > ? ORDER BY n',
    );
    this.#trim = database.prepare('DELETE FROM journal WHERE partition = ? AND up_to <= ?');
  }

  append(state: PartitionState, after: number, upTo: number, row: string): void {
    // Commits that take nothing from the mailbox share their position.
    const last = upTo > after ? undefined : this.#last.get(state.id, upTo)?.n;
    this.#insert.run(state.id, upTo, typeof last === 'number' ? last + 1 : 0, after, row);
  }

  read(state: PartitionState, after: number, limit: number): JournalRow[] {
    const rows: Row[] = this.#behind.all(state.id, after, limit);
    const last = rows.at(-1);
    if (last === undefined) return [];
    // A page never ends between rows of one position, since the next page starts behind it.
    if (rows.length >= limit) rows.push(...this.#rest.all(state.id, integer(last, 'up_to'), integer(last, 'n')));
    return rows.map((row) => this.#withEntries(state, row));
  }

  #withEntries(state: PartitionState, row: Row): JournalRow {
    const upTo = integer(row, 'up_to');
    const from = Math.max(integer(row, 'after'), state.trimmed);
    return { upTo, row: text(row, 'row'), entries: this.#mailbox.read(state, from, upTo, upTo - from) };
  }

  trim(state: PartitionState, upTo: number, now: number): void {
    const reached = Math.min(upTo, state.cursor);
    if (reached <= state.trimmed) return;
    this.#trim.run(state.id, reached);
    state.trimmed = reached;
    this.#book.touch(state);
    this.#mailbox.sweepOne(state, now);
  }
}
