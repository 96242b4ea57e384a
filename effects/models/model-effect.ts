import type { ModelConfig, ModelSelection, ProviderConfig } from '../../manifests/node/models.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import { asSpan } from '../../runtime/calls/calls-of-effect.ts';
import { systemClock } from '../../runtime/clock.ts';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { TargetGates, type TargetHealth } from '../../runtime/effects/target-gates.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { systemRandom } from '../../runtime/random.ts';
import type { SpanAttributes } from '../../runtime/tracing/spans.ts';
import type { Principal, Secrets, TierLimits } from '../../security/api.ts';
import {
  describeFailures,
  type FailedTarget,
  isFinal,
  type ModelCall,
  ModelFailure,
  ModelInput,
  type ModelResult,
  type ModelSource,
  nameOf,
  type ToolCall,
} from './call.ts';
import { ChunkSender } from './chunk-sender.ts';
import { EarlierMessages, withToolResults } from './earlier-messages.ts';
import { answerFromScript } from './scripted.ts';
import { type Answer, askTarget } from './target-tries.ts';
import { Latencies, LiveTargets, type ModelPart, type Target } from './targets.ts';

interface ModelEffectParts {
  readonly providers: readonly ProviderConfig[];
  readonly selection: ModelSelection;
  /** Models that may change while the node runs. Absent: those of `providers`, which never change. */
  readonly targets?: LiveTargets;
  readonly secrets: Secrets;
  /** Folder that relative `script` paths start from; the working directory when absent. */
  readonly scriptDir?: string;
  /** Store of conversations and tool results by reference; without it only the beginnings of tool results are used. */
  readonly blobs?: Pick<Blobs, 'get' | 'put'>;
  /** Limits calls and tokens of inputs with a `principal`. */
  readonly limits?: TierLimits;
  /** Shared by all effects that call external systems. Default: own gates without a limit. */
  readonly gates?: TargetGates;
}

/** A faster failure says nothing about whether the target hangs. */
const SLOW_FAILURE_MS = 1_000;
/** A call cancelled after this time without an answer counts as a failure of its target. */
const SILENT_AFTER_MS = 10_000;

/**
 * The effect `model.generate` (E4): calls a model by alias, with retries and fallbacks, sends `{text}` chunks as progress and
 * returns a `ModelResult`. Repeatable, since a call changes nothing but the bill.
 *
 * Throws `not_found` (unknown alias), `model_refused`, `model_failed` (too large, or nonsense after the retries), `model_unavailable` (no
 * answer, or a stream broke after its first chunk: the next attempt starts the text again), `cancelled`, `rate_limited`. No
 * error contains a key, a request or a raw response.
 */
export function createModelEffect(parts: ModelEffectParts): EffectHandler<typeof ModelInput> {
  const { selection, secrets } = parts;
  const targets = parts.targets ?? new LiveTargets(parts.providers, selection);
  const latencies = new Latencies();
  const gates = parts.gates ?? new TargetGates({ clock: systemClock, most: Number.MAX_SAFE_INTEGER });
  const earlier = new EarlierMessages(parts.blobs);
  const script = answerFromScript({ clock: systemClock, scriptDir: parts.scriptDir ?? '.' });

  async function run(given: ModelInput, context: EffectContext): Promise<ModelResult> {
    const whole = await earlier.whole(given, context.tenant);
    const input = await withToolResults(whole, parts.blobs, context.tenant);
    // Done before the call is counted and paid for, since it may wait for the store and be retried.
    const aside = await earlier.store(given, context.tenant, context.address);
    await takeCall(parts.limits, given, context);
    const result = await ask(input, context);
    const { input_tokens, output_tokens } = result.usage;
    await takeTokens(parts.limits, given, context, input_tokens + output_tokens);
    return aside === null ? result : { ...result, aside };
  }

  async function ask(input: ModelInput, context: EffectContext): Promise<ModelResult> {
    const chain = targets.now.chain(input.model, latencies.of);
    const failed: FailedTarget[] = [];
    for (const target of available(rotated(chain, context.attempt), gates)) {
      const sender = input.stream ? new ChunkSender((text) => context.progress({ text }), systemClock) : undefined;
      const tools = { secrets, selection, clock: systemClock, random: systemRandom, latencies };
      const asked = (source: ModelSource): Promise<Answer> =>
        asSpan(chatSpan(target), async (add) => {
          const answer = await askTarget(target, input, context, sender, { ...tools, source });
          add(answered(answer));
          return answer;
        });
      try {
        // A script is not an external system.
        if (target.provider.type === 'scripted') return toResult(target, input, await asked(script));
        const call = (onAnswer: () => void): Promise<Answer> =>
          asked((one) => withCallback(answerLazily(one), onAnswer));
        return toResult(target, input, await gates.through(nameOf(target), context, { call, healthOf }));
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        failed.push({ target, failure: error });
        if (isFinal(error)) break;
        if (sender?.sent) throw brokenAfterChunks(failed, context.attempt, selection);
      } finally {
        await sender?.stop();
      }
    }
    throw describeFailures(failed);
  }

  return defineEffect({ kind: 'model.generate', input: ModelInput, run });
}

/** Providers by the GenAI conventions; others are named as in the settings. */
const PROVIDERS: Readonly<Record<string, string>> = { gemini: 'gcp.gemini' };

/** The span of a call of a model (GenAI semantic conventions). */
function chatSpan({ provider, model }: Target): Parameters<typeof asSpan>[0] {
  const host = provider.endpoint === undefined ? undefined : URL.parse(provider.endpoint)?.hostname;
  return {
    name: `chat ${model.model}`,
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': PROVIDERS[provider.type] ?? provider.type,
      'gen_ai.request.model': model.model,
      'svc.provider': provider.name,
      'server.address': host,
    },
    errorType: (thrown) => (thrown instanceof ModelFailure ? thrown.kind : toSvcError(thrown).code),
  };
}

const answered = ({ finish: { reason, inputTokens, outputTokens } }: Answer): SpanAttributes => ({
  'gen_ai.response.finish_reasons': [reason],
  'gen_ai.usage.input_tokens': inputTokens,
  'gen_ai.usage.output_tokens': outputTokens,
});

/** Loads the AI SDK with the first call of a real model, so that an idle node stays small. */
async function* answerLazily(call: ModelCall): AsyncGenerator<ModelPart> {
  const { answerWithAiSdk } = await import('./ai-sdk.ts');
  yield* answerWithAiSdk(call);
}

/** Calls `onPart` for each part. */
async function* withCallback(parts: AsyncIterable<ModelPart>, onPart: () => void): AsyncGenerator<ModelPart> {
  for await (const part of parts) {
    onPart();
    yield part;
  }
}

/** The health of a target by a failed call of it. */
function healthOf(thrown: unknown, tookMs: number, answered: boolean): TargetHealth {
  if (answered) return 'alive';
  if (thrown instanceof ModelFailure) {
    if (thrown.kind !== 'busy') return 'alive';
    return tookMs >= SLOW_FAILURE_MS ? 'failed' : 'unknown';
  }
  if (!(thrown instanceof SvcError)) return 'unknown';
  if (thrown.code === 'deadline_exceeded') return 'failed';
  return thrown.code === 'cancelled' && tookMs >= SILENT_AFTER_MS ? 'failed' : 'unknown';
}

/** The targets that are not known to hang; all if all hang. */
function available(chain: readonly Target[], gates: TargetGates): readonly Target[] {
  const closed = chain.filter((target) => !gates.isOpen(nameOf(target)));
  return closed.length === 0 ? chain : closed;
}

/** Attempts of the effect that start with the same target. */
const ATTEMPTS_PER_TARGET = 2;

/**
 * Starts every second attempt one target further: an attempt ends when a stream breaks after its first chunk, so without
 * rotation a model that always breaks would never reach its fallback.
 */
function rotated(chain: readonly Target[], attempt: number): readonly Target[] {
  const start = Math.floor((attempt - 1) / ATTEMPTS_PER_TARGET) % chain.length;
  return [...chain.slice(start), ...chain.slice(0, start)];
}

/** After the first chunk only a new attempt may repeat the text. Nonsense is final when the retries are used up. */
function brokenAfterChunks(failed: readonly FailedTarget[], attempt: number, selection: ModelSelection): SvcError {
  const error = describeFailures(failed);
  if (error.code === 'model_unavailable' || attempt > selection.max_retries) return error;
  return new SvcError('model_unavailable', error.message);
}

function toResult(target: Target, input: ModelInput, answer: Answer): ModelResult {
  const { provider, model } = target;
  return {
    text: answer.text,
    tool_calls: [...answer.toolCalls],
    finish_reason: answer.finish.reason,
    provider: provider.type === 'scripted' ? 'scripted' : provider.name,
    model: model.model,
    usage: usageOf(model, input, answer, answer.finish),
  };
}

type Counted = Pick<EffectContext, 'tenant' | 'attempt' | 'retryWhileUnavailable'>;

function principalOf({ principal }: ModelInput, { tenant }: Counted): Principal | null {
  return principal === undefined ? null : { ...principal, tenant };
}

/** Counts one call before it is made; repeated attempts count once. Throws `rate_limited`, also if the tier's tokens are used up. */
async function takeCall(limits: TierLimits | undefined, input: ModelInput, context: Counted): Promise<void> {
  const principal = principalOf(input, context);
  if (limits === undefined || principal === null || context.attempt > 1) return;
  // In sequence: while the counters are unavailable, only what is not counted yet is retried.
  await context.retryWhileUnavailable(() => limits.take(principal, 'model_tokens', 1));
  await context.retryWhileUnavailable(() => limits.take(principal, 'model_calls'));
}

/** Counts the tokens of an answer. If fewer are left, takes all of these, so that the next call is refused. */
async function takeTokens(
  limits: TierLimits | undefined,
  input: ModelInput,
  context: Counted,
  tokens: number,
): Promise<void> {
  const principal = principalOf(input, context);
  if (limits === undefined || principal === null) return;
  let left = Math.max(0, Math.floor(tokens) - 1);
  for (let step = left; step >= 1 && left > 0; ) {
    const units = Math.min(step, left);
    if (await context.retryWhileUnavailable(() => taken(limits, principal, units))) left -= units;
    else step = Math.floor(step / 2);
  }
}

async function taken(limits: TierLimits, principal: Principal, tokens: number): Promise<boolean> {
  try {
    await limits.take(principal, 'model_tokens', tokens);
    return true;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'rate_limited') return false;
    throw thrown;
  }
}

const CHARS_PER_TOKEN = 4;

/** Cost of the tokens at the configured prices, rounded to hide binary fractions. */
export function costOf(price: ModelConfig['cost_per_1k_tokens'], inputTokens: number, outputTokens: number): number {
  const { input, output } = typeof price === 'number' ? { input: price, output: price } : price;
  return Number(((inputTokens * input + outputTokens * output) / 1_000).toFixed(12));
}

/**
 * Usage of an answered call. Without a provider's count it is estimated as a quarter of the characters and flagged, so that
 * budgets still apply. Failed tries do not count, since no provider reports their tokens.
 */
function usageOf(
  model: ModelConfig,
  input: ModelInput,
  answer: { readonly text: string; readonly toolCalls: readonly ToolCall[] },
  reported: { readonly inputTokens: number | undefined; readonly outputTokens: number | undefined },
): ModelResult['usage'] {
  const estimated = reported.inputTokens === undefined || reported.outputTokens === undefined;
  const inputTokens = reported.inputTokens ?? tokensIn(promptChars(input));
  const outputTokens = reported.outputTokens ?? tokensIn(answer.text.length + jsonChars(answer.toolCalls));
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost: costOf(model.cost_per_1k_tokens, inputTokens, outputTokens),
    estimated,
  };
}

const tokensIn = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);

const jsonChars = (values: readonly unknown[] | undefined): number =>
  values === undefined || values.length === 0 ? 0 : JSON.stringify(values).length;

function promptChars(input: ModelInput): number {
  const turns = input.messages.reduce((sum, message) => sum + message.content.length, 0);
  return turns + (input.system?.length ?? 0) + jsonChars(input.tools);
}
