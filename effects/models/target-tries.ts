import type { ModelSelection } from '../../manifests/node/models.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { pause } from '../../runtime/pause.ts';
import type { Random } from '../../runtime/random.ts';
import type { Secrets } from '../../security/api.ts';
import { type Answer, readAnswer } from './ask.ts';
import { backoffMs } from './backoff.ts';
import type { ModelInput } from './call.ts';
import type { ChunkSender } from './chunk-sender.ts';
import { ModelFailure } from './failure.ts';
import type { Latencies } from './latencies.ts';
import { Patience } from './patience.ts';
import type { ModelSource } from './source.ts';
import type { Target } from './targets.ts';

export interface TryTools {
  readonly source: ModelSource;
  readonly secrets: Secrets;
  readonly selection: ModelSelection;
  readonly clock: Clock;
  readonly random: Random;
  readonly latencies: Latencies;
}

/**
 * Asks one target until it answers, refuses, has sent chunks of an answer that broke, or its retries or its time are
 * used up. Throws the last `ModelFailure`, or the SvcError of a cancel.
 */
export async function askTarget(
  target: Target,
  input: ModelInput,
  context: EffectContext,
  sender: ChunkSender | undefined,
  tools: TryTools,
): Promise<Answer> {
  const { clock, selection } = tools;
  const silenceMs = selection.llm_overall_timeout_secs * 1_000;
  const dueAt = clock.monotonic() + silenceMs;
  const access = await resolveAccess(target, tools.secrets);
  for (let tryNumber = 1; ; tryNumber += 1) {
    const patience = new Patience(clock, context.signal, { firstMs: dueAt - clock.monotonic(), silenceMs });
    try {
      const call = { target, input, ...access, attempt: context.attempt, tryNumber, signal: patience.signal };
      const parts = tools.latencies.measure(target, tools.source(call), clock);
      return await readAnswer(parts, sender, patience);
    } catch (error) {
      throwIfCancelled(context, sender);
      const failure = patience.lost ? tooSlow(selection) : error;
      if (!(failure instanceof ModelFailure)) throw failure;
      tools.latencies.add(target, silenceMs);
      if (failure.kind === 'refused' || sender?.sent || tryNumber > selection.max_retries) throw failure;
      const waitMs = backoffMs(selection.retry_delay_ms, tryNumber, failure.retryAfterMs, tools.random);
      if (clock.monotonic() + waitMs >= dueAt) throw failure;
      await pause(clock, waitMs, context.signal);
      throwIfCancelled(context, sender);
    } finally {
      patience.end();
    }
  }
}

/** Providers are the node's, so their secrets are too, whoever's execution asks. */
async function resolveAccess(
  target: Target,
  secrets: Secrets,
): Promise<{ apiKey: string | undefined; headers: Record<string, string> }> {
  const { api_key: key, headers } = target.provider;
  const resolved: [string, string][] = [];
  for (const [name, value] of Object.entries(headers))
    resolved.push([name, await secrets.resolve(SYSTEM_TENANT, value)]);
  return {
    apiKey: key === undefined ? undefined : await secrets.resolve(SYSTEM_TENANT, key),
    headers: Object.fromEntries(resolved),
  };
}

function throwIfCancelled(context: EffectContext, sender: ChunkSender | undefined): void {
  if (context.signal.aborted) {
    const reason: unknown = context.signal.reason;
    throw reason instanceof SvcError ? reason : new SvcError('cancelled');
  }
  if (sender?.unwanted) throw new SvcError('cancelled', 'The answer is no longer wanted.');
}

const tooSlow = (selection: ModelSelection): ModelFailure =>
  new ModelFailure('busy', `no word for ${selection.llm_overall_timeout_secs} s (llm_overall_timeout_secs)`);
