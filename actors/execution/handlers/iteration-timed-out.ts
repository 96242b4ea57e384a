import { rejectIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';
import { stopWork } from '../stop-work.ts';

/** The running iteration took longer than `iteration_timeout`; a timer of an earlier one is ignored. */
export function IterationTimedOut(
  state: ExecutionState,
  { iteration }: { readonly iteration: number },
  turn: ExecutionTurn,
): ExecutionState {
  if (state.status !== 'running' || state.iteration_count !== iteration) return state;
  if (state.current.memory !== undefined) return state;
  return timeIterationOut(stopWork(state, 'the iteration timed out', turn), turn);
}

/** Used by the timer and by a program that its runner stopped at the same limit. */
export function timeIterationOut(running: RunningExecution, turn: ExecutionTurn): ExecutionState {
  const { current, plan } = running;
  const judged = current.judging === undefined ? '' : ', its judges included, which had not answered';
  const message = `the iteration took longer than ${plan.iteration_timeout_ms} ms${judged}`;
  return rejectIteration(running, { error_type: 'iteration_timed_out', message }, turn);
}
