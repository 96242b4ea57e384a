import type { Partition } from '../address.ts';

/** The row of a partition in the data file. */
export interface PartitionRow {
  tail: number;
  cursor: number;
  /** Position of the journal's last row, or of the cursor (`positionOf`, leases.ts). */
  position: number;
  /** Position up to which the journal is trimmed. */
  trimmed: number;
  epoch: number;
  grant: string | null;
  node: string | null;
  until: number;
}

/** A stored journal row. `upTo` is its position. */
interface JournalPlace {
  readonly key: number;
  readonly after: number;
  readonly upTo: number;
}

/** State of a partition, held in memory because only this process writes the file. */
export interface PartitionState extends PartitionRow {
  readonly id: number;
  readonly name: Partition;
  /** Keys of the stored mailbox entries `base + 1`, `base + 2` … */
  readonly keys: number[];
  base: number;
  /** Stored journal rows, oldest first. */
  readonly journal: JournalPlace[];
  /** Ids of client messages, oldest first. */
  readonly seen: Map<string, { readonly seq: number; readonly at: number }>;
  /**
   * When the last forgotten id was answered, or seen if it was not answered. It covers this run of the process only, as
   * do its callers.
   */
  forgottenAt: number;
  /** Client messages that wait, by actor. An actor with none is absent. */
  readonly waiting: Map<string, number>;
  /** Number of commits in this run of the process. */
  commits: number;
  /** Undefined: not known, read the table. */
  nextTimerAt: number | null | undefined;
  /** Set while a group changes the partition: the state to restore when the group is rolled back. */
  before: Before | null;
}

export interface Before {
  readonly row: PartitionRow;
  /** Whether the row itself must be written. An append alone does not change it. */
  rowChanged: boolean;
  readonly journalRows: number;
  readonly newIds: string[];
  readonly counts: Map<string, number>;
  /** Entries and journal rows that the group deletes at the front. */
  sweptEntries: number;
  sweptRows: number;
}

export const emptyPartition = (id: number, name: Partition, row: PartitionRow): PartitionState => ({
  ...row,
  id,
  name,
  keys: [],
  base: row.tail,
  journal: [],
  seen: new Map(),
  forgottenAt: 0,
  commits: 0,
  waiting: new Map(),
  nextTimerAt: undefined,
  before: null,
});

export function setCount(state: PartitionState, address: string, count: number): void {
  if (count === 0) state.waiting.delete(address);
  else state.waiting.set(address, count);
}

/** Restores the state before a group that is rolled back. */
export function restore(state: PartitionState, before: Before): void {
  Object.assign(state, before.row);
  state.keys.length = state.tail - state.base;
  state.journal.length = before.journalRows;
  for (const id of before.newIds) state.seen.delete(id);
  for (const [address, count] of before.counts) setCount(state, address, count);
  state.nextTimerAt = undefined;
  state.before = null;
}
