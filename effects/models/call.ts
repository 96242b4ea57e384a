import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { Identity } from '../../runtime/identity.ts';
import { jsonObjectField } from '../../runtime/json.ts';
import { FINISH_REASONS, type Target } from './targets.ts';

/** Characters of one message; a request as a whole is bounded by the payload limit (K7). */
const MAX_TEXT = 16 * 1024 * 1024;

const Text = z.string().max(MAX_TEXT);

const ToolCall = z.strictObject({
  id: z.string().min(1).max(200),
  name: z.string().min(1).max(200),
  arguments: jsonObjectField,
});

export type ToolCall = z.output<typeof ToolCall>;

/** One turn of a conversation (W28). */
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
  /** Whose limits count (H27); absent: nobody's. */
  principal: Identity.pick({ kind: true, subject: true, tier: true }).optional(),
});

export type ModelInput = z.output<typeof ModelInput>;

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

/**
 * Why one call of a model did not bring an answer:
 * `busy` nobody answered or it said come back (429, 5xx, no connection, silence): tried again, then the fallback;
 * `broken` the answer stopped in the middle: tried again, then the fallback;
 * `nonsense` the answer could not be understood: tried again, then the fallback;
 * `refused` the request itself is wrong (400, 401, 403, 404): final, a fallback would hide it.
 */
type FailureKind = 'busy' | 'broken' | 'nonsense' | 'refused';

/**
 * A failed call. The text is public and carries no cause: errors of the AI SDK hold request bodies, headers and
 * response bodies, and a provider may echo the key in any of them (S3).
 */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, message: string, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface FailedTarget {
  readonly target: Target;
  readonly failure: ModelFailure;
}

/**
 * What the effect throws when no target answered: `model_unavailable` (tried again by the effect's policy) as long as
 * one of them may answer later, else `model_failed`.
 */
export function describeFailures(failed: readonly FailedTarget[]): SvcError {
  const text = failed.map(({ target, failure }) => `${nameOf(target)}: ${failure.message}`).join('; then ');
  const failures = failed.map((entry) => entry.failure);
  const mayAnswerLater = failures.some((failure) => failure.kind === 'busy' || failure.kind === 'broken');
  if (!mayAnswerLater) return new SvcError('model_failed', text);
  const waits = failures.flatMap((failure) => failure.retryAfterMs ?? []);
  return new SvcError('model_unavailable', text, waits.length === 0 ? {} : { retryAfterMs: Math.min(...waits) });
}

export const nameOf = ({ provider, model }: Target): string => `Provider "${provider.name}", model "${model.model}"`;
