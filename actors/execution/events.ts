import { z } from 'zod';

/**
 * Events of an execution: the one vocabulary of spec 1 (ExecutionEvent) and spec 2 (SSE). Keys and order are the
 * wire's; both transports map these objects one to one.
 */
const id = { execution_id: z.string() };
const iteration = { ...id, iteration_number: z.number().int().min(1) };

export const executionEvents = {
  execution_started: z.object({ ...id, agent_id: z.string(), started_at: z.string() }),
  iteration_started: z.object({ ...iteration, action: z.string(), started_at: z.string() }),
  iteration_output: z.object({ ...iteration, output: z.string() }),
  iteration_completed: z.object({ ...iteration, output: z.string(), completed_at: z.string() }),
  iteration_failed: z.object({
    ...iteration,
    error: z.object({ error_type: z.string(), message: z.string(), stacktrace: z.string().optional() }),
    failed_at: z.string(),
  }),
  refinement_applied: z.object({ ...iteration, code_diff: z.string(), applied_at: z.string() }),
  execution_completed: z.object({
    ...id,
    final_output: z.string(),
    total_iterations: z.number().int(),
    completed_at: z.string(),
  }),
  execution_failed: z.object({
    ...id,
    reason: z.string(),
    total_iterations: z.number().int(),
    failed_at: z.string(),
  }),
} as const;

export type ExecutionEventName = keyof typeof executionEvents;
