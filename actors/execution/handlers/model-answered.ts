import { z } from 'zod';
import type { EffectResult } from '../../../runtime/effect.ts';
import { rejectIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import { awaiting, judge, undone } from '../outcome.ts';
import { type ExecutionState, type RunningExecution, Usage } from '../state.ts';

/** Result value of the effect `model.generate`. */
const ModelAnswer = z.object({
  text: z.string(),
  tool_calls: z.array(z.unknown()).default([]),
  finish_reason: z.string().default('stop'),
  usage: Usage.partial().default({}),
});

/** Finish reasons that say the text is no answer, in the spellings of the providers. */
const NO_ANSWER: ReadonlySet<string> = new Set(['error', 'content-filter', 'content_filter']);

export function ModelAnswered(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const running = awaiting(state, result.effectId);
  if (running === null) return state;
  if (result.outcome.kind !== 'done') return undone(running, result.outcome, turn);
  const answer = ModelAnswer.safeParse(result.outcome.value);
  if (!answer.success) {
    return rejectIteration(
      running,
      { error_type: 'model_failed', message: 'the answer of the model is malformed' },
      turn,
    );
  }
  const { text, tool_calls, finish_reason, usage } = answer.data;
  const counted = withUsage(running, usage);
  if (tool_calls.length > 0) {
    const message = `the model asked for ${tool_calls.length} tool call(s), but no tools were offered`;
    return rejectIteration(counted, { error_type: 'unexpected_tool_calls', message, output: text }, turn);
  }
  if (NO_ANSWER.has(finish_reason)) {
    const message = `the model stopped without an answer (${finish_reason})`;
    return rejectIteration(counted, { error_type: 'model_failed', message, output: text }, turn);
  }
  return judge(counted, { stdout: text, stderr: '', exit_code: 0 }, turn);
}

function withUsage(running: RunningExecution, used: Partial<Usage>): RunningExecution {
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
