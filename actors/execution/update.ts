import { z } from 'zod';
import { jsonField } from '../../runtime/json.ts';

/**
 * Payload of the messages that an execution sends to the actor in `notify` of its start: one when it starts, one when it ends.
 * A parent that no longer needs it answers the first with Cancel, so that a late start does not survive a cancel.
 */
export const ExecutionUpdate = z.object({
  execution_id: z.string(),
  agent_id: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'cancelled']),
  /** The complete final output; null unless completed. */
  output: z.string().nullable(),
  /** Reason of execution_failed. */
  reason: z.string().nullable(),
  error: z.string().nullable(),
  iterations: z.number().int(),
  /** Lowest score of the validators of the accepted iteration; 1 without validators, 0 unless completed. */
  score: z.number(),
  context: jsonField,
});
export type ExecutionUpdate = z.output<typeof ExecutionUpdate>;
