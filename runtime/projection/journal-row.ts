import { z } from 'zod';
import { jsonField } from '../json-field.ts';

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
 * One commit's line of the journal: the lease epoch and what became of each delivery, in order (design R3): of the mailbox
 * entries first, then of the results that were handled beside it.
 */
export type JournalLine = z.infer<typeof wireRow>;

export const parseJournalRow = (row: string): JournalLine => wireRow.parse(JSON.parse(row));
