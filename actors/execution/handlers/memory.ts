import type { EffectResult } from '../../../runtime/effect.ts';
import { keepHead } from '../bounded-text.ts';
import { completeExecution } from '../ending.ts';
import { idleOf, refineIteration } from '../iteration.ts';
import { LIMITS } from '../limits.ts';
import { hintsOf } from '../memory/ask.ts';
import type { Hint } from '../memory/state.ts';
import type { ExecutionTurn } from '../messages.ts';
import { awaited } from '../phase.ts';
import type { ExecutionState } from '../state.ts';

/** The pattern effect has succeeded or failed: the execution continues. */
export function MemoryAnswered(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  return endWait(state, 'MemoryAnswered', { effectId, hints: hintsOf(outcome) }, turn);
}

/** The pattern effect takes too long: the execution continues without it. */
export function MemoryTimedOut(
  state: ExecutionState,
  { effect_id: effectId }: { readonly effect_id: string },
  turn: ExecutionTurn,
): ExecutionState {
  const next = endWait(state, 'MemoryTimedOut', { effectId, hints: [] }, turn);
  if (next !== state) turn.cancelEffect(effectId);
  return next;
}

function endWait(
  state: ExecutionState,
  message: 'MemoryAnswered' | 'MemoryTimedOut',
  { effectId, hints }: { readonly effectId: string; readonly hints: Hint[] },
  turn: ExecutionTurn,
): ExecutionState {
  const found = awaited(state, message, effectId);
  if (found === null) return state;
  const idle = idleOf(found.running);
  const { wait } = found;
  if (wait.kind === 'hints') return refineIteration({ ...idle, hints }, wait.memory.code_diff, turn);
  const { output, score } = wait.memory;
  return completeExecution({ ...idle, last_output: keepHead(output, LIMITS.keptOutputChars) }, output, score, turn);
}
