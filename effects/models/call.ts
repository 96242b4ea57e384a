import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { Identity } from '../../runtime/identity.ts';
import { jsonObjectField } from '../../runtime/json.ts';
import { FINISH_REASONS, type ModelPart, type Target } from './targets.ts';

/** Longest message in characters; the payload limit (K7) bounds the whole request. */
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
  /** Result of the tool call with this id. */
  z.strictObject({
    role: z.literal('tool'),
    content: Text,
    tool_call_id: z.string(),
    tool_name: z.string(),
    /** The whole result `{content, structured}` in Blobs; `content` is its beginning. */
    content_ref: z.string().max(200).optional(),
  }),
]);

export type ModelMessage = z.output<typeof ModelMessage>;

/** Input of the effect `model.generate`. */
export const ModelInput = z.strictObject({
  /** Alias from the node's configuration; `default` exists if any provider does. */
  model: z.string().min(1).max(200),
  system: Text.optional(),
  /** The inner loop may start with 1,000 messages and add 50 rounds of up to 101. */
  messages: z.array(ModelMessage).min(1).max(8_000),
  /** The conversation before `messages`: references to Blobs from earlier results (`aside`), oldest first. */
  earlier: z.array(z.string().max(200)).max(200).optional(),
  /** Stores long `messages` in Blobs and returns their reference. */
  keep_aside: z.boolean().optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_output_tokens: z.number().int().min(1).max(10_000_000).optional(),
  /** Tools that the model may call. Its calls are returned in the result and not run here. */
  tools: z
    .array(
      z.strictObject({
        /** Mapped to a name that the provider accepts (`ToolNames`). */
        name: z.string().regex(/^[A-Za-z0-9_.:/-]{1,200}$/),
        description: z.string().max(10_000).default(''),
        input_schema: jsonObjectField,
      }),
    )
    .max(1_000)
    .optional(),
  /** False: no streaming and no progress, for endpoints that cannot stream. */
  stream: z.boolean().default(true),
  /** Iteration of the execution; used only by the scripted provider. */
  iteration: z.number().int().min(1).optional(),
  /** The principal whose limits apply (H27); absent: no limits. */
  principal: Identity.pick({ kind: true, subject: true, tier: true }).optional(),
});

export type ModelInput = z.output<typeof ModelInput>;

/** Value of the effect's result. */
export const ModelResult = z.object({
  text: z.string(),
  tool_calls: z.array(ToolCall),
  finish_reason: z.enum(FINISH_REASONS),
  /** Reference to the messages of the input, for `earlier` of the next call. */
  aside: z.object({ ref: z.string(), messages: z.number().int(), bytes: z.number().int() }).optional(),
  /** Name of the provider in the configuration; always `scripted` for a script. */
  provider: z.string(),
  /** The provider's name of the model. */
  model: z.string(),
  usage: z.object({
    input_tokens: z.number().int(),
    output_tokens: z.number().int(),
    /** In the currency of `cost_per_1k_tokens`. */
    cost: z.number(),
    /** True: the provider reported no tokens, so they are estimated as a quarter of the characters. */
    estimated: z.boolean(),
  }),
});

export type ModelResult = z.output<typeof ModelResult>;

/**
 * Why a call of a model failed:
 * `busy`: no answer, or a retry is asked for (429, 5xx, no connection, silence); retried, then the fallback;
 * `broken`: the answer stopped in the middle; retried, then the fallback;
 * `nonsense`: the answer could not be parsed; retried, then the fallback;
 * `unusable`: the answer is too large; final, but the model may answer another prompt;
 * `refused`: the request is wrong (400, 401, 403, 404); final, since a fallback would hide it, and so would an iteration.
 */
type FailureKind = 'busy' | 'broken' | 'nonsense' | 'unusable' | 'refused';

/**
 * A failed call. The message is public, and there is no cause: errors of the AI SDK contain requests, headers and responses,
 * any of which may contain the key (S3).
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

/** Whether neither another try nor another target may answer this call. */
export const isFinal = ({ kind }: ModelFailure): boolean => kind === 'refused' || kind === 'unusable';

export interface FailedTarget {
  readonly target: Target;
  readonly failure: ModelFailure;
}

/**
 * The error of the effect when no target has answered: `model_unavailable` (retried by the effect's policy) if one of
 * them may answer later, else `model_refused` if the last one refused the call, else `model_failed`.
 */
export function describeFailures(failed: readonly FailedTarget[]): SvcError {
  const text = failed.map(({ target, failure }) => `${nameOf(target)}: ${failure.message}`).join('; then ');
  const failures = failed.map((entry) => entry.failure);
  const mayAnswerLater = failures.some((failure) => failure.kind === 'busy' || failure.kind === 'broken');
  if (!mayAnswerLater)
    return new SvcError(failures.at(-1)?.kind === 'refused' ? 'model_refused' : 'model_failed', text);
  const waits = failures.flatMap((failure) => failure.retryAfterMs ?? []);
  return new SvcError('model_unavailable', text, waits.length === 0 ? {} : { retryAfterMs: Math.min(...waits) });
}

export const nameOf = ({ provider, model }: Target): string => `Provider "${provider.name}", model "${model.model}"`;

/** A request to a provider, with resolved secrets. */
export interface ProviderCall {
  readonly target: Target;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts the call and closes its socket. */
  readonly signal: AbortSignal;
}

/** One try of a call. */
export interface ModelCall extends ProviderCall {
  readonly input: ModelInput;
  /** Attempt of the effect, from 1. */
  readonly attempt: number;
  /** Try of this target within the attempt, from 1. */
  readonly tryNumber: number;
}

/**
 * Answers calls. Implemented by ai-sdk.ts and scripted.ts. Throws `ModelFailure` for all errors of a provider; an answer
 * without `finish` counts as broken.
 */
export type ModelSource = (call: ModelCall) => AsyncIterable<ModelPart>;

/** Secrets that no text may contain. */
export const secretsOf = (call: ProviderCall): string[] => [
  ...(call.apiKey === undefined ? [] : [call.apiKey]),
  ...Object.values(call.headers),
];
