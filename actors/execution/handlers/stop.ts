import { stopWork } from '../ending.ts';
import { abandonIteration, timeIterationOut } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import { runningOf, runningThatTakes } from '../phase.ts';
import type { ExecutionState } from '../state.ts';

/** Stops the running work; `execution_failed` with reason `cancelled` is the last event (W24). */
export function Cancel(
  state: ExecutionState,
  { reason }: { readonly reason?: string | undefined },
  turn: ExecutionTurn,
): ExecutionState {
  const running = runningOf(state, turn);
  if (runningThatTakes(running, 'Cancel') === null) {
    return turn.refuse('failed_precondition', 'the output of the execution is accepted already');
  }
  turn.reply({ cancelled: true });
  const message = reason === undefined || reason === '' ? 'the execution was cancelled' : `cancelled: ${reason}`;
  return abandonIteration(
    stopWork(running, message, turn),
    { error_type: 'cancelled', message },
    { status: 'cancelled', reason: 'cancelled' },
    turn,
  );
}

/** The whole execution took too long: status `failed`, reason `timed_out` (W24). */
export function ExecutionTimedOut(
  state: ExecutionState,
  _message: Readonly<Record<string, never>>,
  turn: ExecutionTurn,
): ExecutionState {
  const running = runningThatTakes(state, 'ExecutionTimedOut');
  if (running === null) return state;
  const message = `the execution took longer than ${running.plan.execution_timeout_ms} ms`;
  return abandonIteration(
    stopWork(running, message, turn),
    { error_type: 'timed_out', message },
    { status: 'failed', reason: 'timed_out' },
    turn,
  );
}

/** The running iteration took longer than `iteration_timeout`; the timer of an earlier one is ignored. */
export function IterationTimedOut(
  state: ExecutionState,
  { iteration }: { readonly iteration: number },
  turn: ExecutionTurn,
): ExecutionState {
  const running = runningThatTakes(state, 'IterationTimedOut');
  if (running === null || running.iteration_count !== iteration) return state;
  return timeIterationOut(stopWork(running, 'the iteration timed out', turn), turn);
}
