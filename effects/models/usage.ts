import type { ModelConfig } from '../../manifests/node/models.ts';
import type { ModelInput, ModelResult, ToolCall } from './call.ts';

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
