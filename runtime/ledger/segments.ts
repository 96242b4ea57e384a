import { type Address, type Partition, type SharedLog, tenantOf } from '../address.ts';
import type { StoredDocument } from '../documents.ts';
import { countOf } from '../leases.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import type { TurnRow } from '../turns/actor-draft.ts';
import type { RoundKeys } from './key-run.ts';
import { hashOf } from './keys.ts';
import { ledgerLine, textOfLines } from './lines.ts';
import type { RecordedDelivery, RecordedKeys } from './recorded-delivery.ts';
import { groupOf, groupSegmentId, type PartitionGroup, partitionSegmentId } from './segment-names.ts';

/**
 * A part of the deliveries of one tenant to one partition, or to a group of partitions while they share a log (R3).
 * `lines` is JSON text: one array `[seq, appendedAt, epoch, turn row, message]` for each delivery, with the partition's
 * number behind it in a segment of a group; a message in Blobs is its reference as a string. Documents hold the text
 * packed (`packLines`). After a crash overlapping segments can exist: readers keep the first of each `seq`.
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

/** Longest time that a segment covers, so that readers by time look at few segments (`recent`). */
export const MAX_SEGMENT_MS = 60_000;

/** Most characters of a segment, so that encoding it does not delay turns and it fits into every document store. */
const MAX_SEGMENT_CHARS = 256_000;

/** A segment that collects lines. */
interface OpenSegment {
  readonly tenant: string;
  readonly partition: Partition | PartitionGroup;
  readonly id: string;
  readonly node: string | null;
  readonly first: number;
  last: number;
  from: number;
  to: number;
  readonly lines: string[];
  /** Its number among the segments of the round's keys. */
  readonly ordinal: number;
  chars: number;
}

/** Where deliveries of a partition go: into segments of its own, or of its group. */
interface Place {
  readonly segments: Partition | PartitionGroup;
  readonly idOf: (first: number) => string;
  /** In a segment of a group. */
  readonly number: number | null;
}

function placeOf(partition: Partition, log: SharedLog | null): Place {
  if (log === null) return { segments: partition, idOf: (first) => partitionSegmentId(partition, first), number: null };
  const { group, number } = groupOf(partition);
  return { segments: group, idOf: (first) => groupSegmentId(group, log, first), number };
}

/**
 * Segments of several logs that collect lines. The deliveries of one tenant that one node handled go into the same
 * segment: those of a partition, or of a group of partitions that share the log. So there are few segments.
 */
export class LedgerSegments {
  /** By partition or group, and tenant. */
  readonly #open = new Map<Partition | PartitionGroup, Map<string, OpenSegment>>();
  readonly #places = new Map<Partition, Place>();
  #log: SharedLog | null = null;
  readonly #keys: RoundKeys;
  #done: LedgerSegment[] = [];
  /** Characters of the lines that were not taken yet. */
  #chars = 0;

  constructor(keys: RoundKeys) {
    this.#keys = keys;
  }

  get chars(): number {
    return this.#chars;
  }

  add(delivery: RecordedDelivery): void {
    const { log, to, partition, seq, at, keys } = delivery;
    if (log !== this.#log) {
      this.#closeAll();
      this.#places.clear();
      this.#log = log;
    }
    const place = this.#placeOf(partition);
    const segment = this.#segmentFor(tenantOf(to), place, delivery);
    const line = ledgerLine(delivery, place.number);
    if (keys !== null) this.#addKeys(segment, to, keys);
    segment.last = seq;
    // The time of a result is this node's estimate of the store's clock, so it may be out of order.
    segment.from = Math.min(segment.from, at);
    segment.to = Math.max(segment.to, at);
    segment.lines.push(line);
    segment.chars += line.length;
    this.#chars += line.length;
  }

  #placeOf(partition: Partition): Place {
    let place = this.#places.get(partition);
    if (place === undefined) {
      place = placeOf(partition, this.#log);
      this.#places.set(partition, place);
    }
    return place;
  }

  /** The open segment for an entry. A new one is begun when the old one is full or covers too long a time. */
  #segmentFor(tenant: string, place: Place, { node, seq, at, body }: RecordedDelivery): OpenSegment {
    const partition = place.segments;
    const isFull = (one: OpenSegment): boolean =>
      one.chars + body.length > MAX_SEGMENT_CHARS || at - one.from > MAX_SEGMENT_MS || one.to - at > MAX_SEGMENT_MS;
    let open = this.#open.get(partition);
    if (open === undefined) {
      open = new Map();
      this.#open.set(partition, open);
    }
    const found = open.get(tenant);
    if (found !== undefined && found.node === node && !isFull(found)) return found;
    if (found !== undefined) this.#close(found);
    const segment = {
      tenant,
      partition,
      id: place.idOf(seq),
      node,
      first: seq,
      last: seq,
      from: at,
      to: at,
      lines: [],
      ordinal: this.#keys.begin(),
      chars: 0,
    };
    open.set(tenant, segment);
    return segment;
  }

  #addKeys({ tenant, ordinal }: OpenSegment, to: Address, keys: RecordedKeys): void {
    this.#keys.add(ordinal, hashOf('actor', tenant, to));
    this.#addMessage(tenant, ordinal, keys);
    for (const one of keys.drained ?? []) this.#addMessage(tenant, ordinal, one);
  }

  #addMessage(tenant: string, ordinal: number, { id, cause, trace, effect }: RecordedKeys): void {
    this.#keys.add(ordinal, hashOf('message', tenant, id));
    this.#keys.add(ordinal, hashOf('trace', tenant, trace));
    if (cause !== null) this.#keys.add(ordinal, hashOf('cause', tenant, cause));
    if (effect !== null) this.#keys.add(ordinal, hashOf('effect', tenant, effect));
  }

  #close({ tenant, partition, id, node, first, last, from, to, lines, ordinal }: OpenSegment): void {
    this.#keys.name(ordinal, { tenant, id, last, from, to });
    this.#done.push({
      tenant,
      id,
      version: countOf(last),
      partition,
      first,
      last,
      from_at: from,
      to_at: to,
      lines: textOfLines(lines),
      ...(node === null ? {} : { node }),
    });
  }

  #closeAll(): void {
    for (const open of this.#open.values()) for (const segment of open.values()) this.#close(segment);
    this.#open.clear();
  }

  /** Takes all segments collected so far. */
  take(): LedgerSegment[] {
    this.#closeAll();
    const taken = this.#done;
    this.#done = [];
    this.#chars = 0;
    return taken;
  }
}

const mayHaveLetters = ({ outcome, drained }: TurnRow): boolean => outcome === 'dead-lettered' || drained !== undefined;

export function deadLettersOf(commits: readonly ProjectedCommit[]): DeadLetter[] {
  const letters: DeadLetter[] = [];
  for (const commit of commits) {
    for (const [index, entry] of commit.entries.entries()) {
      const row = commit.rows[index];
      const address = commit.targets[index];
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
