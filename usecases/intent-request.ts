import { z } from 'zod';
import { jsonObject, TEXT_CHARS } from './fields.ts';

/** Largest inputs: they travel in one environment variable, which the operating system limits to 128 KiB. */
const INPUT_BYTES = 100_000;

const LANGUAGES = ['python', 'javascript', 'bash'] as const;

type Language = (typeof LANGUAGES)[number];

const goal = z
  .string()
  .min(1)
  .max(TEXT_CHARS)
  .refine((text) => text.trim() !== '', 'expected a goal in words');

/** Arguments of svc.execute.intent, and the body of POST /v1/execute/intent (W40). */
export const intentRequest = {
  intent: goal.describe('The goal, in plain words.'),
  inputs: jsonObject
    .refine(
      (inputs) => Buffer.byteLength(JSON.stringify(inputs)) <= INPUT_BYTES,
      `expected at most ${INPUT_BYTES} bytes of JSON; put more into a volume`,
    )
    .optional()
    .describe('What the program reads, as JSON, in the variable SVC_INPUTS.'),
  language: z.enum(LANGUAGES).default('python').describe('Of the program.'),
  volume_id: z
    .guid('expected the UUID of a volume')
    .toLowerCase()
    .optional()
    .describe('A persistent volume, read-only below /workspace; tier pro and above.'),
  timeout_seconds: z
    .int()
    .min(1)
    .optional()
    .describe('Time limit of the program; default and maximum: what the tier of the caller allows.'),
};

/** Arguments of svc.execute, and the body of POST /v1/execute. */
export const promptRequest = { prompt: goal.describe('The goal, in plain words.') };

/** A validated request for the intent pipeline. */
export interface IntentRequest {
  readonly intent: string;
  readonly inputs?: z.output<typeof jsonObject> | undefined;
  readonly language: Language;
  readonly volume_id?: string | undefined;
  readonly timeout_seconds?: number | undefined;
}

/** Results of the intent pipeline for tools and REST (W40). */

export const IntentStarted = z.strictObject({
  pipeline_execution_id: z.string(),
  status: z.literal('started'),
  /** Path on any node that streams the run as server-sent events. */
  stream_url: z.string(),
});

export type IntentStarted = z.output<typeof IntentStarted>;

export const IntentStatus = z.discriminatedUnion('status', [
  z.strictObject({ status: z.literal('running') }),
  z.strictObject({
    status: z.literal('completed'),
    final_result: z.string(),
    /** Duration of the whole pipeline. */
    duration_ms: z.number(),
    reused_existing_agent: z.boolean(),
  }),
  z.strictObject({
    status: z.literal('failed'),
    /** Code and text of the error. */
    reason: z.string(),
    /** Null: the run failed before its first state. */
    failed_at_state: z.string().nullable(),
  }),
]);

export type IntentStatus = z.output<typeof IntentStatus>;

/** Argument of svc.agent.generate and svc.workflow.generate, and the body of their routes. */
export const generateRequest = {
  input: z
    .string()
    .min(1)
    .max(TEXT_CHARS)
    .refine((text) => text.trim() !== '', 'expected what it should do, in words')
    .describe('What it should do, in plain words.'),
};
