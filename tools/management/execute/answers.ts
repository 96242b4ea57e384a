import { z } from 'zod';

/** Results of the intent pipeline, over tools and REST (spec 3, svc.execute.*). */

export const IntentStarted = z.strictObject({
  pipeline_execution_id: z.string(),
  status: z.literal('started'),
  /** Path on any node: server-sent events of the run. */
  stream_url: z.string(),
});
export type IntentStarted = z.output<typeof IntentStarted>;

export const IntentStatus = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('running') }),
  z.strictObject({
    status: z.literal('completed'),
    final_result: z.string(),
    /** Of the whole pipeline. */
    duration_ms: z.number(),
    reused_existing_agent: z.boolean(),
  }),
  z.strictObject({
    status: z.literal('failed'),
    /** Code of the error and its text. */
    reason: z.string(),
    /** Null: it failed before its first state. */
    failed_at_state: z.string().nullable(),
  }),
]);
export type IntentStatus = z.output<typeof IntentStatus>;
