import type { ToolPolicy } from '../../../manifests/tool/decision.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { takeAnswer } from '../inner-loop/answered.ts';
import { failLoop } from '../inner-loop/finish.ts';
import { loopAwaiting } from '../inner-loop/loop-of.ts';
import { rejectIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import { ModelAnswer, noAnswer, withUsage } from '../model-answer.ts';
import { awaiting, judge, plainFailure, undone } from '../outcome.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';

const MALFORMED = { error_type: 'model_failed', message: 'the answer of the model is malformed' } as const;

/** The model of a round of the inner loop, or of an iteration without tools. `policy` decides about calls. */
export const modelAnswered =
  (policy: ToolPolicy) =>
  (state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState => {
    const looping = loopAwaiting(state, result.effectId);
    if (looping !== null) {
      return looping.loop.phase === 'model' ? inLoop(looping.running, result, policy, turn) : state;
    }
    const running = awaiting(state, result.effectId);
    return running === null ? state : alone(running, result, turn);
  };

function inLoop(
  running: RunningExecution,
  { outcome }: EffectResult,
  policy: ToolPolicy,
  turn: ExecutionTurn,
): ExecutionState {
  if (outcome.kind !== 'done') return failLoop(running, plainFailure(outcome), turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) return failLoop(running, MALFORMED, turn);
  return takeAnswer(withUsage(running, answer.data), answer.data, policy, turn);
}

function alone(running: RunningExecution, { outcome }: EffectResult, turn: ExecutionTurn): ExecutionState {
  if (outcome.kind !== 'done') return undone(running, outcome, turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) return rejectIteration(running, MALFORMED, turn);
  const { text } = answer.data;
  const counted = withUsage(running, answer.data);
  const none = noAnswer(answer.data);
  if (none !== null) return rejectIteration(counted, { ...none, output: text }, turn);
  return judge(counted, { stdout: text, stderr: '', exit_code: 0 }, turn);
}
