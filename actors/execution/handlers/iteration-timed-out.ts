import { rejectIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';

/** The running iteration took longer than `iteration_timeout`; a timer of an earlier one is ignored. */
export function IterationTimedOut(
  state: ExecutionState,
  { iteration }: { readonly iteration: number },
  turn: ExecutionTurn,
): ExecutionState {
  if (state.status !== 'running' || state.iteration_count !== iteration) return state;
  turn.cancelEffect(state.current.effect_id);
  return timeIterationOut(state, turn);
}

/** Used by the timer and by a program that its runner stopped at the same limit. */
export function timeIterationOut(running: RunningExecution, turn: ExecutionTurn): ExecutionState {
  const message = `the iteration took longer than ${running.plan.iteration_timeout_ms} ms`;
  return rejectIteration(running, { error_type: 'iteration_timed_out', message }, turn);
}
