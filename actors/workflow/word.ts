import { z } from 'zod';

/**
 * Payload of the message a workflow sends to whom its start named (`notify`): once when it has started, once when it
 * has ended. A parent that no longer wants it answers the first with Cancel.
 */
export const WorkflowWord = z.object({
  execution_id: z.string(),
  workflow_id: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'cancelled']),
  reason: z.string().nullable(),
  /** Output of its last state, or what `finalize` rendered; null unless completed. */
  output: z.json(),
  /** Final blackboard; empty unless ended. */
  blackboard: z.record(z.string(), z.json()),
  context: z.json(),
});
export type WorkflowWord = z.output<typeof WorkflowWord>;
