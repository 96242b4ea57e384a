import { z } from 'zod';
import { type RunningExecution, Usage } from './state.ts';

/** Result value of the effect `model.generate`. */
export const ModelAnswer = z.object({
  text: z.string(),
  tool_calls: z.array(z.unknown()).default([]),
  finish_reason: z.string().default('stop'),
  usage: Usage.partial().default({}),
  /** Blob with the messages of the request. */
  aside: z.object({ ref: z.string(), messages: z.number().int(), bytes: z.number().int() }).optional(),
});
export type ModelAnswer = z.output<typeof ModelAnswer>;

/** Finish reasons of texts that are not an answer, in the spellings of the providers. */
const NO_ANSWER: ReadonlySet<string> = new Set(['error', 'content-filter', 'content_filter']);

/** The reason why the text is not an answer; null when it is one. */
export function noAnswer({ tool_calls, finish_reason }: ModelAnswer): { error_type: string; message: string } | null {
  if (tool_calls.length > 0) {
    const message = `the model asked for ${tool_calls.length} tool call(s), but no tools were offered`;
    return { error_type: 'unexpected_tool_calls', message };
  }
  if (!NO_ANSWER.has(finish_reason)) return null;
  return { error_type: 'model_failed', message: `the model stopped without an answer (${finish_reason})` };
}

export function withUsage(running: RunningExecution, { usage: used }: ModelAnswer): RunningExecution {
  const { input_tokens, output_tokens, cost } = running.usage;
  return {
    ...running,
    usage: {
      input_tokens: input_tokens + (used.input_tokens ?? 0),
      output_tokens: output_tokens + (used.output_tokens ?? 0),
      cost: cost + (used.cost ?? 0),
    },
  };
}
