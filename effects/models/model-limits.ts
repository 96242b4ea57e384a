import type { ModelConfig } from '../../manifests/node/models.ts';
import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Principal, TierLimits } from '../../security/api.ts';
import type { ModelInput, ModelResult, ToolCall } from './call.ts';

type Counted = Pick<EffectContext, 'tenant' | 'attempt' | 'patiently'>;

function principalOf({ principal }: ModelInput, { tenant }: Counted): Principal | null {
  return principal === undefined ? null : { ...principal, tenant };
}

/**
 * One model call, before it is made; a repeated attempt is the same call. Throws `rate_limited`, also when the tokens of
 * earlier calls have used up the tier's.
 */
export async function takeCall(limits: TierLimits | undefined, input: ModelInput, context: Counted): Promise<void> {
  const principal = principalOf(input, context);
  if (limits === undefined || principal === null || context.attempt > 1) return;
  // One after the other: while the counters are away only what was not counted is tried again.
  await context.patiently(() => limits.take(principal, 'model_tokens', 1));
  await context.patiently(() => limits.take(principal, 'model_calls'));
}

/** What an answer has used, which is known only now. Where less is left all of that is taken, so a later call is refused. */
export async function takeTokens(
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
    if (await context.patiently(() => taken(limits, principal, units))) left -= units;
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

/** Cost of the tokens at the prices of the configuration, without the noise of binary fractions. */
export function costOf(price: ModelConfig['cost_per_1k_tokens'], inputTokens: number, outputTokens: number): number {
  const { input, output } = typeof price === 'number' ? { input: price, output: price } : price;
  return Number(((inputTokens * input + outputTokens * output) / 1_000).toFixed(12));
}

/**
 * Usage of one answered call. A provider that counts nothing is estimated at a quarter of the characters and flagged,
 * so that budgets still bite; tokens of tries that failed are not counted, because no provider reports them.
 */
export function usageOf(
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
