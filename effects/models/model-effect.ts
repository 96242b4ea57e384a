import type { ModelSelection, ProviderConfig } from '../../manifests/node/models.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { defineEffect, type EffectContext, type EffectHandler } from '../../runtime/effect.ts';
import { type CallWord, TargetGates } from '../../runtime/effects/target-gates.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Random, systemRandom } from '../../runtime/random.ts';
import type { Secrets, TierLimits } from '../../security/api.ts';
import { describeFailures, type FailedTarget, ModelFailure, ModelInput, type ModelResult, nameOf } from './call.ts';
import { ChunkSender } from './chunk-sender.ts';
import { EarlierMessages, withToolResults } from './earlier-messages.ts';
import { takeCall, takeTokens, usageOf } from './model-limits.ts';
import { answerFromScript } from './scripted.ts';
import type { ModelCall, ModelSource } from './source.ts';
import { type Answer, askTarget } from './target-tries.ts';
import { Latencies, type ModelPart, ModelTargets, type Target } from './targets.ts';

const MODEL_GENERATE = 'model.generate';

export interface ModelEffectParts {
  readonly providers: readonly ProviderConfig[];
  readonly selection: ModelSelection;
  readonly secrets: Secrets;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Folder that relative `script` paths start from; the working directory when absent. */
  readonly scriptDir?: string;
  /** Where what a conversation only refers to is; without it there are the beginnings of tool results, and no more. */
  readonly blobs?: Pick<Blobs, 'get' | 'put'>;
  /** Counts calls and tokens of those whose input names a `principal`. */
  readonly limits?: TierLimits;
  /** Shared by all that call outside; default: these calls alone, without a bound. */
  readonly gates?: TargetGates;
}

/** A failure that came faster than this cost nobody a place, and has its own pauses. */
const SLOW_FAILURE_MS = 1_000;
/** A call that was given up after so long without a word would have gone on waiting. */
const GIVEN_UP_AFTER_MS = 10_000;

/**
 * The effect `model.generate` (E4): asks a model by alias, with retries and fallbacks, sends `{text}` chunks
 * as progress, and answers a `ModelResult`. Repeatable: a model call changes nothing in the world but the bill.
 *
 * Throws `not_found` (unknown alias), `model_failed` (refused, or nonsense after the retries), `model_unavailable`
 * (nobody answered, or a stream whose chunks were already sent broke: the next attempt starts the text again),
 * `cancelled`, `rate_limited`. No error holds a key, a request or a provider's raw response.
 */
export function createModelEffect(parts: ModelEffectParts): EffectHandler<typeof ModelInput> {
  const { selection, secrets, clock = systemClock, random = systemRandom } = parts;
  const targets = new ModelTargets(parts.providers, selection);
  const latencies = new Latencies();
  const gates = parts.gates ?? new TargetGates({ clock, most: Number.MAX_SAFE_INTEGER });
  const earlier = new EarlierMessages(parts.blobs);
  const script = answerFromScript({ clock, scriptDir: parts.scriptDir ?? '.' });

  async function run(given: ModelInput, context: EffectContext): Promise<ModelResult> {
    const whole = await earlier.whole(given, context.tenant);
    const input = await withToolResults(whole, parts.blobs, context.tenant);
    // Before the model is paid for, and before the call is counted: all this may wait for its store and begin again.
    const aside = await earlier.setAside(given, context.tenant, context.address);
    await takeCall(parts.limits, given, context);
    const result = await ask(input, context);
    const { input_tokens, output_tokens } = result.usage;
    await takeTokens(parts.limits, given, context, input_tokens + output_tokens);
    return aside === null ? result : { ...result, aside };
  }

  async function ask(input: ModelInput, context: EffectContext): Promise<ModelResult> {
    const chain = targets.chain(input.model, latencies.of);
    const failed: FailedTarget[] = [];
    for (const target of answering(turned(chain, context.attempt), gates)) {
      const sender = input.stream ? new ChunkSender((text) => context.progress({ text }), clock) : undefined;
      const tools = { secrets, selection, clock, random, latencies };
      const asked = (source: ModelSource): Promise<Answer> =>
        askTarget(target, input, context, sender, { ...tools, source });
      try {
        // A script is nothing outside.
        if (target.provider.type === 'scripted') return toResult(target, input, await asked(script));
        const call = (heard: () => void): Promise<Answer> => asked((one) => hearing(answerLazily(one), heard));
        return toResult(target, input, await gates.through(nameOf(target), context, { call, wordOf }));
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        failed.push({ target, failure: error });
        if (error.kind === 'refused') break;
        if (sender?.sent) throw brokenAfterChunks(failed, context.attempt, selection);
      } finally {
        await sender?.stop();
      }
    }
    throw describeFailures(failed);
  }

  return defineEffect({ kind: MODEL_GENERATE, input: ModelInput, run });
}

/** The AI SDK is loaded when a real model is first asked: an idle node stays small and starts fast. */
async function* answerLazily(call: ModelCall): AsyncGenerator<ModelPart> {
  const { answerWithAiSdk } = await import('./ai-sdk.ts');
  yield* answerWithAiSdk(call);
}

/** Says when the first part has come. */
async function* hearing(parts: AsyncIterable<ModelPart>, heard: () => void): AsyncGenerator<ModelPart> {
  for await (const part of parts) {
    heard();
    yield part;
  }
}

/** What a call that failed says about its model. */
function wordOf(thrown: unknown, tookMs: number, heard: boolean): CallWord {
  if (heard) return 'alive';
  if (thrown instanceof ModelFailure) {
    if (thrown.kind !== 'busy') return 'alive';
    return tookMs >= SLOW_FAILURE_MS ? 'failed' : 'unknown';
  }
  if (!(thrown instanceof SvcError)) return 'unknown';
  if (thrown.code === 'deadline_exceeded') return 'failed';
  return thrown.code === 'cancelled' && tookMs >= GIVEN_UP_AFTER_MS ? 'failed' : 'unknown';
}

/** Those that are not known to be silent; when all are, all: the first is waited for. */
function answering(chain: readonly Target[], gates: TargetGates): readonly Target[] {
  const there = chain.filter((target) => !gates.isOpen(nameOf(target)));
  return there.length === 0 ? chain : there;
}

/** Attempts of the effect that begin with the same target. */
const ATTEMPTS_PER_TARGET = 2;

/**
 * Each attempt tries the whole chain, but every second one begins a target further on: an attempt ends at once when a
 * stream breaks after its first chunk, so a model that always breaks would else keep its fallback from being asked.
 */
function turned(chain: readonly Target[], attempt: number): readonly Target[] {
  const start = Math.floor((attempt - 1) / ATTEMPTS_PER_TARGET) % chain.length;
  return [...chain.slice(start), ...chain.slice(0, start)];
}

/** Once chunks are out, only a new attempt may say the text again; nonsense is final when the retries are used up. */
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
