import { type Address, type Partition, tenantOf } from '../address.ts';
import type { StoredDocument } from '../documents.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import type { TurnRow } from '../turns/actor-draft.ts';
import type { PartitionGroup } from './segment-names.ts';

/**
 * A part of the deliveries of one tenant to one partition, or to a group of partitions while they share a log (R3).
 * `lines` is JSON text: one array `[seq, appendedAt, epoch, turn row, message]` for each delivery, with the partition's
 * number behind it in a segment of a group; a message in Blobs is its reference as a string. Documents hold the text
 * packed (`packLines`). After a crash overlapping segments can exist: readers keep the first of each `seq` and time.
 */
export interface LedgerSegment extends StoredDocument {
  readonly partition: Partition | PartitionGroup;
  readonly first: number;
  readonly last: number;
  /** Unix ms of the first and last entry's append. */
  readonly from_at: number;
  readonly to_at: number;
  readonly lines: string;
  /** Node that handled these deliveries. Absent in segments of earlier versions. */
  readonly node?: string;
  /** Characters of `lines` as stored, for retention by size. Absent in segments of earlier versions. */
  readonly bytes?: number;
}

export interface DeadLetter extends StoredDocument {
  readonly address: Address;
  readonly error: string;
  /** Unix ms of the turn. */
  readonly at: number;
  /** Encoded message, for inspection and replay. For an unreadable record it is the record's text. */
  readonly body: string;
  /** Characters of error and body, for retention by size. Absent in letters of earlier versions. */
  readonly bytes?: number;
}

/** The collection of segments. */
export const LEDGER = {
  name: 'ledger',
  unique: [],
  indexes: [
    ['partition', 'first'],
    ['to_at', 'bytes'],
  ],
  searched: ['from_at', 'node'],
} as const;

/** The collection of dead letters. */
export const DEAD_LETTERS = {
  name: 'dead_letters',
  unique: [],
  indexes: [['address'], ['at', 'bytes']],
  searched: ['status'],
} as const;

/** Longest time that a segment covers, so that readers by time read few segments (`recent`). */
export const MAX_SEGMENT_MS = 60_000;

const mayHaveLetters = ({ outcome, drained }: TurnRow): boolean => outcome === 'dead-lettered' || drained !== undefined;

export function deadLettersOf({ entries, rows, targets }: ProjectedCommit): DeadLetter[] {
  if (!rows.some(mayHaveLetters)) return [];
  const letters: DeadLetter[] = [];
  for (const [index, entry] of entries.entries()) {
    const row = rows[index];
    const address = targets[index];
    if (row === undefined || address === undefined || !mayHaveLetters(row)) continue;
    const tenant = tenantOf(address);
    const letter = (id: string, body: string, error: string): void => {
      letters.push({ tenant, id, version: 1, address, at: row.now, error, body });
    };
    if (row.outcome === 'dead-lettered') letter(letterPart(entry.seq), entry.body, row.error ?? '');
    for (const [part, line] of (row.drained ?? []).entries()) {
      if (line.outcome === 'dead-lettered') letter(`${letterPart(entry.seq)}.${part}`, line.body, line.error ?? '');
    }
  }
  return letters.map((one) => ({
    ...one,
    id: letterId(one.address, one.id),
    bytes: one.body.length + one.error.length,
  }));
}

/** Dead letter for a committed record that cannot be read: one letter for each actor, however often it is found. */
export function unreadableRecord(address: Address, record: string, error: string, at: number): DeadLetter {
  const bytes = record.length + error.length;
  return {
    tenant: tenantOf(address),
    id: letterId(address, 'record'),
    version: 1,
    address,
    at,
    error,
    body: record,
    bytes,
  };
}

/**
 * Part of a letter's id. The point counts drained messages, so the fraction of a result's position gets another sign.
 */
const letterPart = (seq: number): string => `${seq}`.replace('.', '+');

const letterId = (address: Address, part: string): string => `${address.replaceAll('/', '.')}.${part}`;
