import type { EffectResult } from '../../../runtime/effect.ts';
import { keepHead } from '../bounded-text.ts';
import { completeExecution } from '../ending.ts';
import { refineIteration } from '../iteration.ts';
import { LIMITS } from '../limits.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionState } from '../state.ts';
import { hintsOf } from './hints.ts';
import type { Hint } from './state.ts';

/** Memory has answered, whatever it says: the execution goes on. Late and repeated answers change nothing. */
export function MemoryAnswered(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  return goOn(state, effectId, hintsOf(outcome), turn);
}

/** Memory takes too long: the execution goes on without. */
export function MemoryTimedOut(
  state: ExecutionState,
  { effect_id }: { readonly effect_id: string },
  turn: ExecutionTurn,
): ExecutionState {
  const next = goOn(state, effect_id, [], turn);
  if (next !== state) turn.cancelEffect(effect_id);
  return next;
}

function goOn(state: ExecutionState, effectId: string, hints: Hint[], turn: ExecutionTurn): ExecutionState {
  if (state.status !== 'running') return state;
  const { current, ...idle } = state;
  const { memory } = current;
  if (memory?.effect_id !== effectId) return state;
  if (memory.for === 'hints') return refineIteration({ ...idle, hints }, memory.code_diff, turn);
  const { output, score } = memory;
  return completeExecution({ ...idle, last_output: keepHead(output, LIMITS.keptOutputChars) }, output, score, turn);
}
