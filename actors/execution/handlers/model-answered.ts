import type { EffectResult } from '../../../runtime/effect.ts';
import { rejectIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import { ModelAnswer, noAnswer, withUsage } from '../model-answer.ts';
import { awaiting, judge, undone } from '../outcome.ts';
import type { ExecutionState } from '../state.ts';

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
  const { text } = answer.data;
  const counted = withUsage(running, answer.data);
  const none = noAnswer(answer.data);
  if (none !== null) return rejectIteration(counted, { ...none, output: text }, turn);
  return judge(counted, { stdout: text, stderr: '', exit_code: 0 }, turn);
}
