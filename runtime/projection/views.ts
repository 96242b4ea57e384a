import { z } from 'zod';
import type { Address, Partition } from '../address.ts';
import type { Registry } from '../define-actor.ts';
import type { Collection, Documents, StoredDocument } from '../documents.ts';
import { jsonField } from '../json.ts';
import type { MailboxEntry } from '../message.ts';
import type { TurnRow } from '../turns/actor-draft.ts';

/** Collections of list documents by name. */
export type Views = ReadonlyMap<string, Collection<StoredDocument>>;

export async function openViews(documents: Documents, registry: Registry): Promise<Views> {
  const views = new Map<string, Collection<StoredDocument>>();
  for (const { view } of registry.definitions) {
    if (view === undefined) continue;
    const spec = { name: view.collection, unique: [], indexes: view.indexes ?? [] };
    views.set(view.collection, await documents.collection<StoredDocument>(spec));
  }
  return views;
}

/** One commit as the projector sees it: what came in, what became of it. */
export interface ProjectedCommit {
  /** Position of its journal row (journal-position.ts). */
  readonly upTo: number;
  readonly epoch: number;
  /** Mailbox entries, then results handled beside it, which have positions for numbers. */
  readonly entries: readonly MailboxEntry[];
  readonly targets: readonly Address[];
  /** Where each of these lives. */
  readonly partitions: readonly Partition[];
  readonly rows: readonly TurnRow[];
}

export const turnRow = z.object({
  outcome: z.enum(['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered', 'postponed']),
  now: z.number(),
  waitMs: z.number(),
  turnUs: z.number(),
  error: z.string().optional(),
  drained: z.array(z.object({ body: z.string(), outcome: z.string(), error: z.string().optional() })).optional(),
});

const wireRow = z.object({
  epoch: z.number().int(),
  turns: z.array(turnRow),
  /**
   * Time and message of each result that was handled beside the mailbox, and where its actor lives when partitions share the
   * log. Absent in rows of formats 1 and 2.
   */
  results: z.array(z.tuple([z.number(), jsonField]).rest(z.string())).default([]),
});

/**
 * One commit's line of the journal: the lease epoch and what became of each delivery, in order (R3): of the mailbox
 * entries first, then of the results that were handled beside it.
 */
export type JournalLine = z.infer<typeof wireRow>;

export const parseJournalRow = (row: string): JournalLine => wireRow.parse(JSON.parse(row));
