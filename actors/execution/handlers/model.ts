import { z } from 'zod';
import type { ToolPolicy } from '../../../manifests/tool/decision.ts';
import type { EffectProgress, EffectResult } from '../../../runtime/effect.ts';
import { takeAnswer } from '../inner-loop/answered.ts';
import { rejectIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import { ModelAnswer, noAnswer, withUsage } from '../model-answer.ts';
import { effectFailed, failLoop, failureOf, judgeResult, stream } from '../outcome.ts';
import { awaited } from '../phase.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';

const MALFORMED = { error_type: 'model_failed', message: 'the answer of the model is malformed' } as const;

/** The model has answered: a round of the inner loop, or an iteration without tools. `policy` decides about tool calls. */
export const modelAnswered =
  (policy: ToolPolicy) =>
  (state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState => {
    const found = awaited(state, 'ModelAnswered', result.effectId);
    if (found === null) return state;
    const { running, wait } = found;
    return wait.kind === 'round' ? endRound(running, result, policy, turn) : endIteration(running, result, turn);
  };

function endRound(
  running: RunningExecution,
  { outcome }: EffectResult,
  policy: ToolPolicy,
  turn: ExecutionTurn,
): ExecutionState {
  if (outcome.kind !== 'done') return failLoop(running, failureOf(outcome), turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) return failLoop(running, MALFORMED, turn);
  return takeAnswer(withUsage(running, answer.data), answer.data, policy, turn);
}

function endIteration(running: RunningExecution, { outcome }: EffectResult, turn: ExecutionTurn): ExecutionState {
  if (outcome.kind !== 'done') return effectFailed(running, outcome, turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) return rejectIteration(running, MALFORMED, turn);
  const { text } = answer.data;
  const counted = withUsage(running, answer.data);
  const none = noAnswer(answer.data);
  if (none !== null) return rejectIteration(counted, { ...none, output: text }, turn);
  return judgeResult(counted, { stdout: text, stderr: '', exit_code: 0 }, turn);
}

const Chunk = z.object({ text: z.string() });

/** A piece of the model's answer as it streams. One of another shape is dropped: the result has the whole text. */
export function ModelChunk(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'ModelChunk', progress.effectId);
  const chunk = Chunk.safeParse(progress.value);
  if (found === null || !chunk.success) return state;
  return stream(found.running, progress.attempt, chunk.data.text, turn);
}
