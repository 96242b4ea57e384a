import { z } from 'zod';

export const turnRow = z.object({
  outcome: z.enum(['done', 'refused', 'retried', 'deferred', 'stale', 'dead-lettered']),
  now: z.number(),
  waitMs: z.number(),
  turnUs: z.number(),
  error: z.string().optional(),
  drained: z.array(z.object({ body: z.string(), outcome: z.string(), error: z.string().optional() })).optional(),
});

const wireRow = z.object({
  epoch: z.number().int(),
  turns: z.array(turnRow),
});

/** One commit's line of the journal: the lease epoch and what became of each mailbox entry, in order (design R3). */
export type JournalLine = z.infer<typeof wireRow>;

export const parseJournalRow = (row: string): JournalLine => wireRow.parse(JSON.parse(row));
