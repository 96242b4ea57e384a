import type { DatabaseSync } from 'node:sqlite';
import type { Lease } from '../actor-store.ts';
import type { Address, Log, Partition } from '../address.ts';
import { loadPartitions } from './actor-store-loading.ts';
import {
  type Before,
  emptyPartition,
  type PartitionRow,
  type PartitionState,
  restore,
  setCount,
} from './actor-store-partition.ts';
import { integerOrNull } from './database.ts';
import type { GroupMember } from './group-commit.ts';

const FRESH: PartitionRow = {
  tail: 0,
  cursor: 0,
  position: 0,
  trimmed: 0,
  epoch: 0,
  grant: null,
  node: null,
  until: 0,
};

/** The partitions: loaded at opening, written once for each group, restored when a group is rolled back. */
export class PartitionBook implements GroupMember {
  readonly #byName: Map<Log, PartitionState>;
  readonly #changed = new Set<PartitionState>();
  readonly #created = new Set<PartitionState>();
  readonly #put;
  readonly #update;
  readonly #count;
  readonly #uncount;
  readonly #nextTimer;
  #lastId: number;

  constructor(database: DatabaseSync) {
    this.#byName = loadPartitions(database);
    this.#lastId = Math.max(0, ...[...this.#byName.values()].map((state) => state.id));
    this.#put = database.prepare(
      `INSERT OR REPLACE INTO partitions (id, name, tail, cursor, trimmed, epoch, lease_grant, lease_node, lease_until)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    // Replacing a row would also write the index of names again.
    this.#update = database.prepare(
      `UPDATE partitions SET tail = ?, cursor = ?, trimmed = ?, epoch = ?, lease_grant = ?, lease_node = ?, lease_until = ?
       WHERE id = ?`,
    );
    this.#count = database.prepare('INSERT OR REPLACE INTO waiting (partition, address, count) VALUES (?, ?, ?)');
    this.#uncount = database.prepare('DELETE FROM waiting WHERE partition = ? AND address = ?');
    this.#nextTimer = database.prepare('SELECT min(due) AS due FROM timers WHERE partition = ?');
  }

  /** For reads. Undefined when nothing was ever written to the partition. */
  find(name: Log): PartitionState | undefined {
    return this.#byName.get(name);
  }

  all(): Iterable<PartitionState> {
    return this.#byName.values();
  }

  /** For writes. Creates a missing partition. */
  get(name: Partition): PartitionState {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    this.#lastId += 1;
    const made = emptyPartition(this.#lastId, name, FRESH);
    this.#byName.set(name, made);
    this.#created.add(made);
    this.changeRow(made);
    return made;
  }

  /** The state when `lease` is the current one, else undefined. */
  held(lease: Lease): PartitionState | undefined {
    const state = this.#byName.get(lease.log);
    return state !== undefined && state.epoch === lease.epoch && state.grant === lease.grant ? state : undefined;
  }

  /** Saves the state before a group. Call it before the group's first change. */
  change(state: PartitionState): Before {
    if (state.before !== null) return state.before;
    const { tail, cursor, position, trimmed, epoch, grant, node, until } = state;
    state.before = {
      row: { tail, cursor, position, trimmed, epoch, grant, node, until },
      rowChanged: false,
      journalRows: state.journal.length,
      newIds: [],
      counts: new Map(),
      sweptEntries: 0,
      sweptRows: 0,
    };
    this.#changed.add(state);
    return state.before;
  }

  /** `change` for a change that must write the row. */
  changeRow(state: PartitionState): void {
    this.change(state).rowChanged = true;
  }

  recount(state: PartitionState, address: Address, difference: number): void {
    const { counts } = this.change(state);
    const old = state.waiting.get(address) ?? 0;
    if (!counts.has(address)) counts.set(address, old);
    setCount(state, address, Math.max(0, old + difference));
  }

  nextTimerAt(state: PartitionState): number | null {
    if (state.nextTimerAt === undefined) {
      const row = this.#nextTimer.get(state.id);
      state.nextTimerAt = row === undefined ? null : integerOrNull(row, 'due');
    }
    return state.nextTimerAt;
  }

  beforeCommit(): void {
    for (const state of this.#changed) {
      if (state.before === null) continue;
      for (const [address, old] of state.before.counts) {
        const count = state.waiting.get(address);
        if (count === old) continue;
        if (count !== undefined) this.#count.run(state.id, address, count);
        else if (old !== 0) this.#uncount.run(state.id, address);
      }
      if (state.before.rowChanged) this.#write(state);
    }
  }

  committed(): void {
    for (const state of this.#changed) {
      const { sweptEntries = 0, sweptRows = 0 } = state.before ?? {};
      if (sweptEntries > 0) state.keys.splice(0, sweptEntries);
      if (sweptRows > 0) state.journal.splice(0, sweptRows);
      state.base += sweptEntries;
      state.before = null;
    }
    this.#changed.clear();
    this.#created.clear();
  }

  rolledBack(): void {
    for (const state of this.#changed) if (state.before !== null) restore(state, state.before);
    for (const state of this.#created) this.#byName.delete(state.name);
    this.#changed.clear();
    this.#created.clear();
  }

  #write(state: PartitionState): void {
    const { id, name, tail, cursor, trimmed, epoch, grant, node, until } = state;
    const { changes } = this.#update.run(tail, cursor, trimmed, epoch, grant, node, until, id);
    if (changes === 0) this.#put.run(id, name, tail, cursor, trimmed, epoch, grant, node, until);
  }
}
