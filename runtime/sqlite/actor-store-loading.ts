import type { DatabaseSync } from 'node:sqlite';
import type { Partition } from '../address.ts';
import { emptyPartition, type PartitionState } from './actor-store-partition.ts';
import { integer, position, text, textOrNull } from './database.ts';

/**
 * Loads the state of each partition into memory, in one pass over the rows that the journal and the sweep have left.
 */
export function loadPartitions(database: DatabaseSync): Map<Partition, PartitionState> {
  const byId = new Map<number, PartitionState>();
  for (const row of database.prepare('SELECT * FROM partitions').iterate()) {
    const id = integer(row, 'id');
    const state = emptyPartition(id, partitionNamed(text(row, 'name')), {
      tail: integer(row, 'tail'),
      cursor: integer(row, 'cursor'),
      position: Math.max(integer(row, 'cursor'), position(row, 'trimmed')),
      trimmed: position(row, 'trimmed'),
      epoch: integer(row, 'epoch'),
      grant: textOrNull(row, 'lease_grant'),
      node: textOrNull(row, 'lease_node'),
      until: integer(row, 'lease_until'),
    });
    byId.set(id, state);
  }
  loadEntries(database, byId);
  for (const row of database.prepare('SELECT key, partition, after, up_to FROM journal ORDER BY key').iterate()) {
    const place = { key: integer(row, 'key'), after: integer(row, 'after'), upTo: position(row, 'up_to') };
    const state = byId.get(integer(row, 'partition'));
    if (state === undefined) continue;
    state.journal.push(place);
    state.position = Math.max(state.position, place.upTo);
  }
  for (const row of database.prepare('SELECT partition, address, count FROM waiting').iterate()) {
    byId.get(integer(row, 'partition'))?.waiting.set(text(row, 'address'), integer(row, 'count'));
  }
  return new Map([...byId.values()].map((state) => [state.name, state]));
}

/** Keys are given in the order of arrival, so a partition's entries come in the order of their numbers. */
function loadEntries(database: DatabaseSync, byId: ReadonlyMap<number, PartitionState>): void {
  const entries = database.prepare('SELECT key, partition, seq, at, id FROM mailbox ORDER BY key');
  for (const row of entries.iterate()) {
    const state = byId.get(integer(row, 'partition'));
    if (state === undefined) continue;
    const seq = integer(row, 'seq');
    if (state.keys.length === 0) state.base = seq - 1;
    state.keys.push(integer(row, 'key'));
    state.tail = Math.max(state.tail, seq);
    const id = textOrNull(row, 'id');
    if (id !== null) state.seen.set(id, { seq, at: integer(row, 'at') });
  }
}

export function partitionNamed(stored: string): Partition {
  const colon = stored.lastIndexOf(':');
  return `${stored.slice(0, colon)}:${Number(stored.slice(colon + 1))}`;
}
