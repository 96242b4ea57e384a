import { z } from 'zod';
import { duration } from '../duration.ts';
import { Judge, ListedValidator, ValidationObject } from './validation.ts';

const iterations = z.number().int().min(1).max(20);

/** `spec.execution`: the iteration loop (original-facts 2.5; defaults of decided.md). */
export const AgentExecution = z
  .strictObject({
    mode: z.enum(['one-shot', 'iterative']).default('iterative'),
    max_iterations: iterations.optional(),
    max_retries: iterations.optional().describe('Older name of max_iterations.'),
    iteration_timeout: duration({ minMs: 1, maxMs: 3_600_000, text: 'at most 1h' }).prefault('300s'),
    llm_timeout_seconds: z.number().int().min(1).max(3_600).default(300),
    memory: z.boolean().default(false),
    validation: z.union([z.array(ListedValidator).max(20), ValidationObject]).default([]),
    tool_validation: z.array(Judge).max(20).default([]),
    target_tags: z
      .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/=-]{0,62}$/, 'expected a tag such as gpu or zone:eu'))
      .max(32)
      .default([]),
  })
  .superRefine((execution, context) => {
    if (execution.max_iterations !== undefined && execution.max_retries !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['max_retries'],
        message: 'max_retries is the older name of max_iterations: give one of the two',
      });
  })
  .transform(({ max_iterations, max_retries, iteration_timeout, ...rest }) => ({
    ...rest,
    max_iterations: rest.mode === 'one-shot' ? 1 : (max_iterations ?? max_retries ?? 10),
    iteration_timeout_ms: iteration_timeout,
  }));
