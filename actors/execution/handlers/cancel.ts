import { stopWork } from '../ending.ts';
import { abandonIteration, rejectIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';

/** Stops the running work; `execution_failed` with reason `cancelled` is the last event (W24). */
export function Cancel(
  state: ExecutionState,
  { reason }: { readonly reason?: string | undefined },
  turn: ExecutionTurn,
): ExecutionState {
  if (state.status === 'pending') return turn.refuse('not_found', 'execution not found');
  if (state.status !== 'running') return turn.refuse('failed_precondition', `the execution is ${state.status} already`);
  if (state.current.memory?.for === 'stored') {
    return turn.refuse('failed_precondition', 'the output of the execution is accepted already');
  }
  turn.reply({ cancelled: true });
  const message = reason === undefined || reason === '' ? 'the execution was cancelled' : `cancelled: ${reason}`;
  return abandonIteration(
    stopWork(state, message, turn),
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
  if (state.status !== 'running') return state;
  const message = `the execution took longer than ${state.plan.execution_timeout_ms} ms`;
  const stopped = stopWork(state, message, turn);
  return abandonIteration(
    stopped,
    { error_type: 'timed_out', message },
    { status: 'failed', reason: 'timed_out' },
    turn,
  );
}

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
