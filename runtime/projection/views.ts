import { z } from 'zod';
import type { PartitionChanges } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Registry } from '../define-actor.ts';
import type { Collection, Documents, StoredDocument } from '../documents.ts';
import { jsonField } from '../json.ts';
import type { DeliveryKeys } from '../ledger/keys.ts';
import type { MailboxEntry } from '../message.ts';
import type { TurnRow } from '../turns/actor-draft.ts';

/** Collections of list documents by name. */
export type Views = ReadonlyMap<string, Collection<StoredDocument>>;

export async function openViews(documents: Documents, registry: Pick<Registry, 'definitions'>): Promise<Views> {
  const views = new Map<string, Collection<StoredDocument>>();
  for (const { view } of registry.definitions) {
    if (view === undefined) continue;
    const spec = { name: view.collection, unique: [], indexes: view.indexes ?? [] };
    views.set(view.collection, await documents.collection<StoredDocument>(spec));
  }
  return views;
}

/** One commit for the projector: its entries and their outcomes. */
export interface ProjectedCommit {
  /** Position of its journal row (`positionOf`, leases.ts). */
  readonly upTo: number;
  readonly epoch: number;
  /** Node that made the commit. Null for rows of earlier versions. */
  readonly node: string | null;
  /** Mailbox entries, then results handled beside the mailbox, whose numbers are positions. */
  readonly entries: readonly MailboxEntry[];
  readonly targets: readonly Address[];
  /** Partition of each of these actors. */
  readonly partitions: readonly Partition[];
  readonly rows: readonly TurnRow[];
  /** The rows as JSON, as far as they are encoded already. */
  readonly rowTexts?: readonly string[];
  /** All of these, with commas between them. */
  readonly turns?: string;
  /** What it changed. Absent when it was read from the journal. */
  readonly changes?: readonly ({ readonly partition: Partition } & Pick<PartitionChanges, 'events'>)[];
  /** The keys by which the ledger finds each delivery; null for one whose body contains them, or that cannot be read. */
  readonly keys: readonly (DeliveryKeys | null)[];
}

const outcome = z.enum(['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'postponed']);

const drainedTurn = z.object({
  body: z.string(),
  outcome,
  error: z.string().optional(),
  attempt: z.number().int().optional(),
  turnUs: z.number().optional(),
  digest: z.string().optional(),
});

export const turnRow = z.object({
  outcome,
  now: z.number(),
  waitMs: z.number(),
  turnUs: z.number(),
  error: z.string().optional(),
  digest: z.string().optional(),
  drained: z.array(drainedTurn).optional(),
});

const wireRow = z.object({
  epoch: z.number().int(),
  /** Node that made the commit. Absent in rows of earlier versions. */
  node: z.string().optional(),
  turns: z.array(turnRow),
  /**
   * Time and message of each result that was handled beside the mailbox, and the partition of its actor when partitions
   * share the log. Absent in rows of formats 1 and 2.
   */
  results: z.array(z.tuple([z.number(), jsonField]).rest(z.string())).default([]),
});

/**
 * The journal row of one commit: the lease epoch and the outcome of each delivery, in order (R3): first of the mailbox
 * entries, then of the results handled beside the mailbox.
 */
export type JournalLine = z.infer<typeof wireRow>;

export const parseJournalRow = (row: string): JournalLine => wireRow.parse(JSON.parse(row));
