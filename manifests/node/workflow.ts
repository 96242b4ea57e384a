import { z } from 'zod';

/** `spec.workflow`: how workflows run here. */
export const NodeWorkflow = z.strictObject({
  /** Transitions of one run before it fails with `max_transitions_exceeded` (decided.md "Workflows"). */
  max_transitions: z.number().int().min(1).max(1_000_000).default(1_000),
});
