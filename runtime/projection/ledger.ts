import type { MailboxEntry } from '../actor-store.ts';
import { type Address, type Partition, tenantOf } from '../address.ts';
import type { StoredDocument } from '../documents.ts';
import { countOf } from '../journal-position.ts';
import { UNREADABLE } from '../turns/loading.ts';
import type { TurnRow } from '../turns/turn-row.ts';
import type { ProjectedCommit } from './projected-commit.ts';

/**
 * A stretch of one partition's deliveries of one tenant (design R3). `lines` is JSON text, one array
 * `[seq, appendedAt, epoch, turn row, message]` a delivery; a message stored aside is its reference as a string.
 * Documents keep the text packed (ledger-text.ts).
 * Overlapping segments can exist after a crash; readers keep the first of each `seq`.
 */
export interface LedgerSegment extends StoredDocument {
  readonly partition: Partition;
  readonly first: number;
  readonly last: number;
  /** Unix ms of the first and last entry's append. */
  readonly from_at: number;
  readonly to_at: number;
  readonly lines: string;
  /** Characters of `lines` as stored, for retention by size. Absent in segments of earlier versions. */
  readonly bytes?: number;
}

export interface DeadLetter extends StoredDocument {
  readonly address: Address;
  readonly error: string;
  /** Unix ms of the turn. */
  readonly at: number;
  /** Encoded message, for inspection and replay; of a record that cannot be read the record's text. */
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

/** A segment's text stays under this, so that a document store's own limit is never met. */
const MAX_SEGMENT_CHARS = 1_000_000;

/** A segment in the making. */
interface OpenSegment {
  readonly tenant: string;
  readonly partition: Partition;
  readonly first: number;
  last: number;
  readonly from: number;
  to: number;
  readonly lines: string[];
  chars: number;
}

export function ledgerSegments(commits: readonly ProjectedCommit[]): LedgerSegment[] {
  const done: LedgerSegment[] = [];
  const open = new Map<string, OpenSegment>();
  const close = (key: string): void => {
    const segment = open.get(key);
    if (segment === undefined) return;
    open.delete(key);
    const { tenant, partition } = segment;
    done.push({
      tenant,
      id: `${partition}.${segment.first}`,
      version: countOf(segment.last),
      partition,
      first: segment.first,
      last: segment.last,
      from_at: segment.from,
      to_at: segment.to,
      lines: `[${segment.lines.join(',')}]`,
    });
  };
  for (const commit of commits) {
    for (const [index, entry] of commit.entries.entries()) {
      const tenant = tenantOf(commit.targets[index] ?? 'unknown/svc-system/unknown');
      const partition = commit.partitions[index];
      if (partition === undefined || commit.rows[index]?.outcome === 'postponed') continue;
      const key = `${tenant} ${partition}`;
      const isReadable = commit.targets[index] !== UNREADABLE;
      const line = ledgerLine(entry, commit.epoch, commit.rows[index], isReadable);
      let segment = open.get(key);
      if (segment !== undefined && segment.chars + line.length > MAX_SEGMENT_CHARS) {
        close(key);
        segment = undefined;
      }
      if (segment === undefined) {
        const { seq, at } = entry;
        segment = { tenant, partition, first: seq, last: seq, from: at, to: at, lines: [], chars: 0 };
        open.set(key, segment);
      }
      segment.last = entry.seq;
      // A result's time is this node's reading of the store's clock.
      segment.to = Math.max(segment.to, entry.at);
      segment.lines.push(line);
      segment.chars += line.length;
    }
  }
  for (const key of [...open.keys()]) close(key);
  return done;
}

/** Bodies are JSON already and go in as they are: escaping them again would cost more than all the rest. */
function ledgerLine(
  { seq, at, body }: MailboxEntry,
  epoch: number,
  row: TurnRow | undefined,
  isReadable: boolean,
): string {
  const message = isReadable && body.startsWith('{') ? body : JSON.stringify(body);
  return `[${seq},${at},${epoch},${row === undefined ? 'null' : JSON.stringify(row)},${message}]`;
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

/** A committed record that cannot be read: one letter an actor, however often it is met. */
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

/** Another sign than the point that counts what was drained: a result's position is a fraction. */
const letterPart = (seq: number): string => `${seq}`.replace('.', '+');

const letterId = (address: Address, part: string): string => `${address.replaceAll('/', '.')}.${part}`;
