import { z } from 'zod';
import { jsonField } from '../../runtime/json.ts';

/**
 * Payload of the message that an execution sends to the actor its start named (`notify`): one when it has started, one when
 * it has ended. A parent that no longer wants it answers the first with Cancel, so that no start outlives its cancel.
 */
export const ExecutionUpdate = z.object({
  execution_id: z.string(),
  agent_id: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'cancelled']),
  /** Final output, whole; null unless completed. */
  output: z.string().nullable(),
  /** Of execution_failed. */
  reason: z.string().nullable(),
  error: z.string().nullable(),
  iterations: z.number().int(),
  /** Lowest score of the validators of the accepted iteration; 1 without validators, 0 unless completed. */
  score: z.number(),
  context: jsonField,
});
export type ExecutionUpdate = z.output<typeof ExecutionUpdate>;
