import { z } from 'zod';

/** An event of a log. */
export const LoggedEvent = z.object({
  sequence: z.number().int(),
  event_type: z.string(),
  payload: z.record(z.string(), z.unknown()),
  recorded_at: z.string(),
});

/** Where a page of a log stands in the whole. */
export const logPage = { total: z.number().int(), limit: z.number().int(), offset: z.number().int() };
