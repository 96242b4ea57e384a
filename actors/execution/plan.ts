import { z } from 'zod';

/** One check of an iteration's result, in the order of the manifest (original-facts 2.6, 2.7). */
export const ResultValidator = z.discriminatedUnion('type', [
  z.object({ type: z.literal('exit_code'), expected: z.number().int(), min_score: z.number() }),
  z.object({ type: z.literal('json_schema'), schema: z.record(z.string(), z.json()), min_score: z.number() }),
  z.object({
    type: z.literal('regex'),
    pattern: z.string(),
    target: z.enum(['stdout', 'stderr']),
    min_score: z.number(),
  }),
  z.object({ type: z.literal('stderr_empty'), min_score: z.number() }),
  z.object({
    type: z.literal('output_format'),
    format: z.enum(['json', 'yaml', 'text', 'csv', 'pdf']),
    min_score: z.number(),
  }),
]);
export type ResultValidator = z.infer<typeof ResultValidator>;

/** What of a manifest an execution needs while it runs. Smaller than the manifest: it is written with every turn. */
export const ExecutionPlan = z.object({
  instruction: z.string(),
  /** Null: the default template. */
  prompt_template: z.string().nullable(),
  agentskills: z.array(z.string()),
  /** Text of `spec.context`. */
  context: z.string(),
  model: z.string(),
  temperature: z.number().nullable(),
  llm_timeout_seconds: z.number().int(),
  max_iterations: z.number().int().min(1),
  iteration_timeout_ms: z.number().int().positive(),
  execution_timeout_ms: z.number().int().positive(),
  validators: z.array(ResultValidator),
  /** Null: the loop runs in the node and talks to the model. */
  program: z
    .object({
      path: z.string(),
      /** Values are literals or references (`secret:NAME`), never resolved here. */
      env: z.record(z.string(), z.string()),
      cpu_millicores: z.number().int(),
      memory_bytes: z.number().int(),
      /** Annotation `svc.dev/on-in-doubt`. */
      on_in_doubt: z.enum(['retry', 'fail']),
    })
    .nullable(),
});
export type ExecutionPlan = z.infer<typeof ExecutionPlan>;
