import { promisify } from 'node:util';
import { constants, inflateRaw, zstdCompress, zstdCompressSync, zstdDecompress } from 'node:zlib';
import { type Address, type Partition, tenantOf } from '../address.ts';
import type { StoredDocument } from '../documents.ts';
import { countOf } from '../leases.ts';
import type { MailboxEntry } from '../message.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import { UNREADABLE } from '../turns/loading.ts';
import { type DeliveryKeys, hashOf } from './keys.ts';
import { ledgerLine, textOfLines } from './lines.ts';

/**
 * A part of one partition's deliveries of one tenant (R3). `lines` is JSON text: one array `[seq, appendedAt, epoch,
 * turn row, message]` for each delivery; a message in Blobs is its reference as a string. Documents hold the text
 * packed (`packLines`). After a crash overlapping segments can exist: readers keep the first of each `seq`.
 */
export interface LedgerSegment extends StoredDocument {
  readonly partition: Partition;
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
} as const;

/** The collection of dead letters. */
export const DEAD_LETTERS = { name: 'dead_letters', unique: [], indexes: [['address'], ['at', 'bytes']] } as const;

/** Longest time that a segment covers, so that readers by time look at few segments (`recent`). */
export const MAX_SEGMENT_MS = 60_000;

/** Most characters of a segment, so that encoding it does not delay turns and it fits into every document store. */
const MAX_SEGMENT_CHARS = 256_000;

/** A segment that collects lines. */
interface OpenSegment {
  readonly tenant: string;
  readonly partition: Partition;
  readonly node: string | null;
  readonly first: number;
  last: number;
  from: number;
  to: number;
  readonly lines: string[];
  readonly hashes: number[];
  chars: number;
}

/** A segment to be written, and the hashes of its keys. */
export interface CollectedSegment {
  readonly segment: LedgerSegment;
  readonly hashes: readonly number[];
}

/**
 * Segments of several logs that collect lines. Each partition's deliveries of one tenant that one node handled go into
 * the same segment, so that there are few segments.
 */
export class LedgerSegments {
  readonly #open = new Map<string, OpenSegment>();
  #done: CollectedSegment[] = [];
  /** Characters of the lines that were not taken yet. */
  #chars = 0;

  get chars(): number {
    return this.#chars;
  }

  add(commit: ProjectedCommit): void {
    for (const [index, entry] of commit.entries.entries()) {
      const to = commit.targets[index] ?? UNREADABLE;
      const partition = commit.partitions[index];
      const row = commit.rows[index];
      if (partition === undefined || row?.outcome === 'postponed') continue;
      const keys = to === UNREADABLE ? null : (commit.keys[index] ?? null);
      const segment = this.#segmentFor(tenantOf(to), partition, commit.node, entry);
      const line = ledgerLine(entry, commit.epoch, row, { isReadable: to !== UNREADABLE, keys });
      if (keys !== null) addHashes(segment.hashes, segment.tenant, to, keys);
      segment.last = entry.seq;
      // The time of a result is this node's estimate of the store's clock, so it may be out of order.
      segment.from = Math.min(segment.from, entry.at);
      segment.to = Math.max(segment.to, entry.at);
      segment.lines.push(line);
      segment.chars += line.length;
      this.#chars += line.length;
    }
  }

  /** The open segment for an entry. A new one is begun when the old one is full or covers too long a time. */
  #segmentFor(tenant: string, partition: Partition, node: string | null, { seq, at, body }: MailboxEntry): OpenSegment {
    const key = `${tenant} ${partition} ${node}`;
    let segment = this.#open.get(key);
    const isFull = (one: OpenSegment): boolean =>
      one.chars + body.length > MAX_SEGMENT_CHARS || at - one.from > MAX_SEGMENT_MS || one.to - at > MAX_SEGMENT_MS;
    if (segment !== undefined && isFull(segment)) {
      this.#close(key, segment);
      segment = undefined;
    }
    if (segment === undefined) {
      segment = { tenant, partition, node, first: seq, last: seq, from: at, to: at, lines: [], hashes: [], chars: 0 };
      this.#open.set(key, segment);
    }
    return segment;
  }

  #close(key: string, { tenant, partition, node, first, last, from, to, lines, hashes }: OpenSegment): void {
    this.#open.delete(key);
    const segment: LedgerSegment = {
      tenant,
      id: `${partition}.${first}`,
      version: countOf(last),
      partition,
      first,
      last,
      from_at: from,
      to_at: to,
      lines: textOfLines(lines),
      ...(node === null ? {} : { node }),
    };
    this.#done.push({ segment, hashes });
  }

  /** Takes all segments collected so far. */
  take(): CollectedSegment[] {
    for (const [key, segment] of this.#open) this.#close(key, segment);
    const taken = this.#done;
    this.#done = [];
    this.#chars = 0;
    return taken;
  }
}

function addHashes(hashes: number[], tenant: string, to: Address, keys: DeliveryKeys): void {
  hashes.push(hashOf('actor', tenant, to));
  for (const { id, cause, trace, effect } of [keys, ...(keys.drained ?? [])]) {
    hashes.push(hashOf('message', tenant, id), hashOf('trace', tenant, trace));
    if (cause !== null) hashes.push(hashOf('cause', tenant, cause));
    if (effect !== null) hashes.push(hashOf('effect', tenant, effect));
  }
}

export function deadLettersOf(commits: readonly ProjectedCommit[]): DeadLetter[] {
  const letters: DeadLetter[] = [];
  for (const commit of commits) {
    for (const [index, entry] of commit.entries.entries()) {
      const row = commit.rows[index];
      const address = commit.targets[index];
      if (row === undefined || address === undefined) continue;
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

const inflate = promisify(inflateRaw);

const compress = promisify(zstdCompress);

const decompress = promisify(zstdDecompress);

/** Text shorter than this is not compressed. */
const PLAIN_CHARS = 2_000;

/**
 * Text shorter than this is compressed on this thread, in some tenths of a millisecond. Moving it to another thread
 * costs as much.
 */
const HERE_CHARS = 128_000;

const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Mark in front of compressed text. Neither JSON text nor base64 begins with it. */
const MARK = '~';

/**
 * Packs the lines of a ledger segment for documents: JSON text, or from 2,000 characters on a mark and the base64 of
 * zstd. Deliveries repeat each other, so a fifth is written. Long text is compressed on another thread.
 */
export async function packLines(text: string): Promise<string> {
  if (text.length < PLAIN_CHARS) return text;
  const bytes = text.length < HERE_CHARS ? zstdCompressSync(text, FAST) : await compress(text, FAST);
  return MARK + bytes.toString('base64');
}

/** Reverses `packLines`. Earlier versions wrote the base64 of a raw deflate, without a mark. */
export async function unpackLines(packed: string): Promise<string> {
  if (packed.startsWith('[')) return packed;
  if (!packed.startsWith(MARK)) return (await inflate(Buffer.from(packed, 'base64'))).toString('utf8');
  return (await decompress(Buffer.from(packed.slice(MARK.length), 'base64'))).toString('utf8');
}
