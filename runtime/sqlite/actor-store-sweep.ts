import type { DatabaseSync } from 'node:sqlite';
import type { PartitionState } from './actor-store-partition.ts';
import type { PartitionBook } from './actor-store-partitions.ts';

/**
 * How long the id of a handled client message is remembered: the shorter of the two limits (K3), counted from its
 * answer if it got one.
 */
const REMEMBER_MS = 60_000;
const REMEMBER_MESSAGES = 4_096;

/** Most rows of one partition that one sweep deletes, so that no group takes long. */
const SWEEP_LIMIT = 512;

/**
 * Forgets the ids of old handled client messages. Returns the number up to which none is remembered. An id is never
 * forgotten while its message waits, according to the durable state.
 */
export function forgetSeen(state: PartitionState, now: number): number {
  const { cursor } = state.before?.row ?? state;
  for (const [id, { seq, at }] of state.seen) {
    const old = now - at >= REMEMBER_MS || cursor - seq >= REMEMBER_MESSAGES;
    if (seq > cursor || !old) return seq - 1;
    state.seen.delete(id);
    state.forgottenAt = Math.max(state.forgottenAt, at);
  }
  return cursor;
}

/**
 * Deletes journal rows, and entries with their replies, once they are trimmed and forgotten. The rows of all partitions
 * are stored in the order of arrival, so they are deleted together: each page is changed once, not once for each
 * partition.
 */
export class Sweep {
  readonly #book: PartitionBook;
  readonly #statements;
  /** Partitions that may have rows old enough to delete. */
  readonly #candidates = new Set<PartitionState>();

  constructor(database: DatabaseSync, book: PartitionBook) {
    this.#book = book;
    const deleteFrom = (table: string) => database.prepare(`DELETE FROM ${table} WHERE key BETWEEN ? AND ?`);
    this.#statements = {
      mailbox: deleteFrom('mailbox'),
      replies: deleteFrom('replies'),
      journal: deleteFrom('journal'),
    };
    for (const state of book.all()) this.add(state);
  }

  add(state: PartitionState): void {
    this.#candidates.add(state);
  }

  get idle(): boolean {
    return this.#candidates.size === 0;
  }

  /** Deletes old rows. Returns whether there are more. */
  run(now: number): boolean {
    const entries: number[] = [];
    const rows: number[] = [];
    let more = false;
    for (const state of this.#candidates) {
      if (this.#book.find(state.name) !== state) this.#candidates.delete(state);
      else if (this.#gather(state, now, entries, rows)) more = true;
    }
    for (const [first, last] of runsOf(entries)) {
      this.#statements.mailbox.run(first, last);
      this.#statements.replies.run(first, last);
    }
    for (const [first, last] of runsOf(rows)) this.#statements.journal.run(first, last);
    return more;
  }

  /** Adds the keys of old rows to `entries` and `rows`. Returns whether there are more. */
  #gather(state: PartitionState, now: number, entries: number[], rows: number[]): boolean {
    const upTo = Math.min(forgetSeen(state, now), Math.floor(state.trimmed));
    const oldEntries = Math.max(0, Math.min(upTo - state.base, SWEEP_LIMIT));
    const kept = state.journal.findIndex((row) => row.upTo > state.trimmed);
    const oldRows = Math.min(kept === -1 ? state.journal.length : kept, SWEEP_LIMIT);
    if (oldEntries === 0 && oldRows === 0) {
      if (state.seen.size === 0) this.#candidates.delete(state);
      return false;
    }
    const before = this.#book.change(state);
    if (before.sweptEntries > 0 || before.sweptRows > 0) return true;
    before.sweptEntries = oldEntries;
    before.sweptRows = oldRows;
    for (const key of state.keys.slice(0, oldEntries)) entries.push(key);
    for (const { key } of state.journal.slice(0, oldRows)) rows.push(key);
    return oldEntries === SWEEP_LIMIT || oldRows === SWEEP_LIMIT;
  }
}

/** Ranges of consecutive numbers, as [first, last]. */
function runsOf(keys: number[]): [number, number][] {
  const runs: [number, number][] = [];
  let run: [number, number] | undefined;
  for (const key of keys.sort((a, b) => a - b)) {
    if (run !== undefined && key === run[1] + 1) run[1] = key;
    else {
      run = [key, key];
      runs.push(run);
    }
  }
  return runs;
}
