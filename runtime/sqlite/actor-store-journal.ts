import type { DatabaseSync } from 'node:sqlite';
import type { JournalRow } from '../actor-store.ts';
import type { MailboxTable } from './actor-store-mailbox.ts';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';
import type { Sweep } from './actor-store-sweep.ts';
import { integer, text } from './columns.ts';

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
