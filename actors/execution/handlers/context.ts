import type { EffectResult } from '../../../runtime/effect.ts';
import { readContext } from '../context/read.ts';
import { abandonIteration, beginOrFail, idleOf } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import { failureOf } from '../outcome.ts';
import { awaited } from '../phase.ts';
import type { ExecutionState } from '../state.ts';

/**
 * The files and URLs of `spec.context` were read: the first iteration begins. What cannot be read ends the execution under
 * the code of that error, since no iteration could change it. The text is kept, so that nothing is read twice.
 */
export function ContextRead(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'ContextRead', result.effectId);
  if (found === null) return state;
  const { running } = found;
  const { outcome } = result;
  if (outcome.kind !== 'done') {
    const failure = failureOf(outcome);
    return abandonIteration(running, failure, { status: 'failed', reason: failure.error_type }, turn);
  }
  const context_text = readContext(running.plan, result);
  if (context_text === null) {
    const failure = { error_type: 'internal', message: 'spec.context: the result of reading it is malformed' };
    return abandonIteration(running, failure, { status: 'failed', reason: 'internal' }, turn);
  }
  return beginOrFail({ ...idleOf(running), context_text }, turn);
}
