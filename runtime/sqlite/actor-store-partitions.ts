import type { DatabaseSync } from 'node:sqlite';
import type { Lease } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { keyOf, seqOf } from './actor-store-schema.ts';
import { integer, integerOrNull, type Row, text, textOrNull } from './columns.ts';
import type { GroupMember } from './group-commit.ts';

/** How long the id of a handled client message is remembered: the shorter of the two (design K3). */
export const REMEMBER_MS = 60_000;
export const REMEMBER_MESSAGES = 4_096;

/** A partition as the data file has it. Only this process writes the file, so it is held in memory. */
export interface PartitionState {
  readonly id: number;
  readonly name: Partition;
  tail: number;
  cursor: number;
  trimmed: number;
  swept: number;
  epoch: number;
  grant: string | null;
  node: string | null;
  until: number;
  /** Undefined: not known, ask the table. */
  nextTimerAt: number | null | undefined;
  /** Ids of client messages, oldest first. */
  readonly seen: Map<string, { readonly seq: number; readonly at: number }>;
  /** Client messages that wait, by actor; an actor with none is absent. */
  readonly waiting: Map<string, number>;
  /** Actors whose count is to be written. */
  readonly recounted: Set<string>;
  /** Whether the row is to be written. */
  changed: boolean;
}

/** The partitions: loaded at first use, written once a group, forgotten when a group is rolled back. */
export class PartitionBook implements GroupMember {
  readonly #byName = new Map<string, PartitionState>();
  readonly #touched = new Set<PartitionState>();
  readonly #select;
  readonly #insert;
  readonly #update;
  readonly #lastEntry;
  readonly #recent;
  readonly #counts;
  readonly #count;
  readonly #uncount;
  readonly #nextTimer;

  constructor(database: DatabaseSync) {
    this.#select = database.prepare('SELECT * FROM partitions WHERE name = ?');
    this.#insert = database.prepare('INSERT INTO partitions (name) VALUES (?)');
    this.#update = database.prepare(
      `UPDATE partitions SET tail = ?, cursor = ?, trimmed = ?, swept = ?, epoch = ?, lease_grant = ?, lease_node = ?,
       lease_until = ? WHERE id = ?`,
    );
    this.#lastEntry = database.prepare('SELECT max(key) AS key FROM mailbox WHERE key > ? AND key < ?');
    this.#recent = database.prepare(
      'SELECT key, at, id FROM mailbox WHERE key > ? AND key < ? AND id IS NOT NULL ORDER BY key',
    );
    this.#counts = database.prepare('SELECT address, count FROM waiting WHERE partition = ?');
    this.#count = database.prepare('INSERT OR REPLACE INTO waiting (partition, address, count) VALUES (?, ?, ?)');
    this.#uncount = database.prepare('DELETE FROM waiting WHERE partition = ? AND address = ?');
    this.#nextTimer = database.prepare('SELECT min(due) AS due FROM timers WHERE partition = ?');
  }

  /** For reads: undefined when nothing was ever written to the partition. */
  find(name: Partition): PartitionState | undefined {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const row = this.#select.get(name);
    if (row === undefined) return undefined;
    const state = this.#load(row, name);
    this.#byName.set(name, state);
    return state;
  }

  /** For writes: creates what is missing. */
  get(name: Partition): PartitionState {
    const known = this.find(name);
    if (known !== undefined) return known;
    this.#insert.run(name);
    const made = this.find(name);
    if (made === undefined) throw new Error(`partition ${name} was not stored`);
    return made;
  }

  /** The state when `lease` is the one in force, else undefined. */
  held(lease: Lease): PartitionState | undefined {
    const state = this.find(lease.partition);
    return state !== undefined && state.epoch === lease.epoch && state.grant === lease.grant ? state : undefined;
  }

  /** Marks the row as to be written with this group. */
  touch(state: PartitionState): void {
    state.changed = true;
    this.#touched.add(state);
  }

  recount(state: PartitionState, address: Address, difference: number): void {
    const count = Math.max(0, (state.waiting.get(address) ?? 0) + difference);
    if (count === 0) state.waiting.delete(address);
    else state.waiting.set(address, count);
    state.recounted.add(address);
    this.#touched.add(state);
  }

  nextTimerAt(state: PartitionState): number | null {
    if (state.nextTimerAt === undefined) {
      const row = this.#nextTimer.get(state.id);
      state.nextTimerAt = row === undefined ? null : integerOrNull(row, 'due');
    }
    return state.nextTimerAt;
  }

  beforeCommit(): void {
    for (const state of this.#touched) {
      for (const address of state.recounted) {
        const count = state.waiting.get(address);
        if (count === undefined) this.#uncount.run(state.id, address);
        else this.#count.run(state.id, address, count);
      }
      if (state.changed) this.#write(state);
    }
  }

  committed(): void {
    for (const state of this.#touched) {
      state.recounted.clear();
      state.changed = false;
    }
    this.#touched.clear();
  }

  rolledBack(): void {
    this.#touched.clear();
    this.#byName.clear();
  }

  #write(state: PartitionState): void {
    const { tail, cursor, trimmed, swept, epoch, grant, node, until, id } = state;
    this.#update.run(tail, cursor, trimmed, swept, epoch, grant, node, until, id);
  }

  #load(row: Row, name: Partition): PartitionState {
    const id = integer(row, 'id');
    // An append writes no partition row: the last entry knows the tail better.
    const last = this.#lastEntry.get(keyOf(id, 0), keyOf(id + 1, 0));
    const lastKey = last === undefined ? null : integerOrNull(last, 'key');
    const tail = Math.max(integer(row, 'tail'), lastKey === null ? 0 : seqOf(lastKey));
    const cursor = integer(row, 'cursor');
    const state: PartitionState = {
      id,
      name,
      tail,
      cursor,
      trimmed: integer(row, 'trimmed'),
      swept: integer(row, 'swept'),
      epoch: integer(row, 'epoch'),
      grant: textOrNull(row, 'lease_grant'),
      node: textOrNull(row, 'lease_node'),
      until: integer(row, 'lease_until'),
      nextTimerAt: undefined,
      seen: new Map(),
      waiting: new Map(),
      recounted: new Set(),
      changed: false,
    };
    const from = Math.max(0, Math.min(cursor, tail - REMEMBER_MESSAGES));
    for (const entry of this.#recent.iterate(keyOf(id, from), keyOf(id + 1, 0))) {
      state.seen.set(text(entry, 'id'), { seq: seqOf(integer(entry, 'key')), at: integer(entry, 'at') });
    }
    for (const each of this.#counts.all(id)) state.waiting.set(text(each, 'address'), integer(each, 'count'));
    return state;
  }
}

/**
 * Forgets the ids of handled client messages that are old enough; answers up to where nothing is remembered. An id is
 * never forgotten while its message waits.
 */
export function forgetSeen(state: PartitionState, now: number): number {
  for (const [id, { seq, at }] of state.seen) {
    const old = now - at >= REMEMBER_MS || state.tail - seq >= REMEMBER_MESSAGES;
    if (seq > state.cursor || !old) return seq - 1;
    state.seen.delete(id);
  }
  return state.cursor;
}
