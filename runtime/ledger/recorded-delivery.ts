import type { Address, Partition, SharedLog } from '../address.ts';
import type { MailboxEntry } from '../message.ts';
import type { ProjectedCommit } from '../projection/views.ts';
import type { TurnRow } from '../turns/actor-draft.ts';
import { UNREADABLE } from '../turns/loading.ts';
import { type DeliveryKeys, keysIn, saysItsKeys } from './keys.ts';

export type RecordedKeys = Pick<DeliveryKeys, 'id' | 'cause' | 'trace' | 'effect' | 'drained'>;

/** One delivery of a commit, as it is written. */
export interface RecordedDelivery {
  /** Null: its partition has a log of its own. */
  readonly log: SharedLog | null;
  readonly to: Address;
  readonly partition: Partition;
  readonly node: string | null;
  readonly epoch: number;
  readonly seq: number;
  /** Unix ms of the append. */
  readonly at: number;
  readonly body: string;
  /** Its turn as JSON, with the envelope of a message in Blobs. */
  readonly turn: string;
  readonly isReadable: boolean;
  readonly keys: RecordedKeys | null;
}

/** A commit of a log, to be recorded. */
export interface RecordedCommit {
  /** Null: each partition has a log of its own. */
  readonly log: SharedLog | null;
  readonly commit: ProjectedCommit;
}

/** The deliveries of a commit. Those that were postponed are recorded when they are handled. */
export function* recordedIn({ log, commit }: RecordedCommit): Generator<RecordedDelivery> {
  for (let index = 0; index < commit.entries.length; index += 1) {
    const [entry, partition] = [commit.entries[index], commit.partitions[index]];
    if (entry === undefined || partition === undefined || commit.rows[index]?.outcome === 'postponed') continue;
    yield deliveryOf(log, commit, index, partition, entry);
  }
}

/** The delivery at a place of a commit. */
export function deliveryOf(
  log: SharedLog | null,
  { epoch, node, targets, rows, rowTexts, keys: all }: ProjectedCommit,
  index: number,
  partition: Partition,
  { seq, at, body }: MailboxEntry,
): RecordedDelivery {
  const to = targets[index] ?? UNREADABLE;
  const isReadable = to !== UNREADABLE;
  const keys = isReadable ? (all[index] ?? (saysItsKeys(body, rows[index]) ? keysIn(body).keys : null)) : null;
  const turn = turnText(rows[index], rowTexts?.[index], keys);
  return { log, to, partition, node, epoch, seq, at, body, turn, isReadable, keys };
}

function turnText(row: TurnRow | undefined, text: string | undefined, keys: DeliveryKeys | null): string {
  // An object without a turn does not fit the row's schema, so a node without a ledger keeps no envelope.
  return keys?.envelope == null || row === undefined
    ? (text ?? JSON.stringify(row ?? null))
    : JSON.stringify({ ...row, envelope: keys.envelope });
}
