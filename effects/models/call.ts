import { z } from 'zod';
import { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { jsonObjectField } from '../../runtime/json-field.ts';

/** Characters of one message; a request as a whole is bounded by the payload limit (design K7). */
const MAX_TEXT = 16 * 1024 * 1024;
const Text = z.string().max(MAX_TEXT);

const ToolCall = z.strictObject({
  id: z.string().min(1).max(200),
  name: z.string().min(1).max(200),
  arguments: jsonObjectField,
});
export type ToolCall = z.output<typeof ToolCall>;

/** One turn of a conversation (original-facts.md 6.4). */
export const ModelMessage = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: Text }),
  z.strictObject({ role: z.literal('user'), content: Text }),
  z.strictObject({ role: z.literal('assistant'), content: Text, tool_calls: z.array(ToolCall).max(100).optional() }),
  /** What a tool answered to the call with this id. */
  z.strictObject({
    role: z.literal('tool'),
    content: Text,
    tool_call_id: z.string(),
    tool_name: z.string(),
    /** The whole result `{content, structured}` in Blobs, of which `content` is the beginning (tool-results.ts). */
    content_ref: z.string().max(200).optional(),
  }),
]);
export type ModelMessage = z.output<typeof ModelMessage>;

/** Input of the effect `model.generate`. */
export const ModelInput = z.strictObject({
  /** Alias from the node's configuration; `default` always means something when a provider exists. */
  model: z.string().min(1).max(200),
  system: Text.optional(),
  /** A conversation of the inner loop may have 1,000 to begin with, and 50 rounds of up to 101. */
  messages: z.array(ModelMessage).min(1).max(8_000),
  /** What was said before `messages`: parts in Blobs, oldest first, as earlier results named them (`aside`). */
  earlier: z.array(z.string().max(200)).max(200).optional(),
  /** Stores long `messages` in Blobs and names them in the result. */
  keep_aside: z.boolean().optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_output_tokens: z.number().int().min(1).max(10_000_000).optional(),
  /** Tools the model may ask for; its calls come back in the result and are not run here. */
  tools: z
    .array(
      z.strictObject({
        /** Providers are given a name they accept (tool-names.ts). */
        name: z.string().regex(/^[A-Za-z0-9_.:/-]{1,200}$/),
        description: z.string().max(10_000).default(''),
        input_schema: jsonObjectField,
      }),
    )
    .max(1_000)
    .optional(),
  /** False asks for the answer in one piece and sends no progress, for endpoints that cannot stream. */
  stream: z.boolean().default(true),
  /** Iteration of the execution this call is for; only the scripted provider reads it. */
  iteration: z.number().int().min(1).optional(),
  /** Whose limits count (original-facts 13.1); absent: nobody's. */
  principal: Identity.pick({ kind: true, subject: true, tier: true }).optional(),
});
export type ModelInput = z.output<typeof ModelInput>;

export const FINISH_REASONS = ['stop', 'length', 'content-filter', 'tool-calls', 'other'] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/** Value of the effect's result. */
export const ModelResult = z.object({
  text: z.string(),
  tool_calls: z.array(ToolCall),
  finish_reason: z.enum(FINISH_REASONS),
  /** The messages of the input, in Blobs: the next call may name them in `earlier`. */
  aside: z.object({ ref: z.string(), messages: z.number().int(), bytes: z.number().int() }).optional(),
  /** Name of the provider in the configuration; always `scripted` when no model was asked. */
  provider: z.string(),
  /** The provider's name of the model. */
  model: z.string(),
  usage: z.object({
    input_tokens: z.number().int(),
    output_tokens: z.number().int(),
    /** In the currency of `cost_per_1k_tokens`. */
    cost: z.number(),
    /** True: the provider gave no count, so the tokens are about a quarter of the characters. */
    estimated: z.boolean(),
  }),
});
export type ModelResult = z.output<typeof ModelResult>;

/** What a model says, piece by piece; `finish` is last and there exactly once. */
export type ModelPart =
  | { readonly kind: 'text'; readonly text: string }
  /** Work that is no text: reasoning, arguments of a tool call under way. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'tool_call'; readonly id: string; readonly name: string; readonly arguments: JsonObject }
  | {
      readonly kind: 'finish';
      readonly reason: FinishReason;
      readonly inputTokens: number | undefined;
      readonly outputTokens: number | undefined;
    };
