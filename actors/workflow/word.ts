import { z } from 'zod';
import { jsonField, jsonObjectField } from './json-field.ts';

/**
 * Payload of the message a workflow sends to whom its start named (`notify`): once when it has started, once when it
 * has ended. A parent that no longer wants it answers the first with Cancel.
 */
export const WorkflowWord = z.object({
  execution_id: z.string(),
  workflow_id: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'cancelled']),
  /** Code of a failure, words of a cancel. */
  reason: z.string().nullable(),
  /** What failed, for people. */
  error: z.string().nullable().default(null),
  /** Output of its last state, or what `finalize` rendered; null unless completed. */
  output: jsonField,
  /** Final blackboard; empty unless ended. */
  blackboard: jsonObjectField,
  context: jsonField,
});
export type WorkflowWord = z.output<typeof WorkflowWord>;
