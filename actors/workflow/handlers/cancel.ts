import { release } from '../children.ts';
import { cancelRun, TIMERS } from '../ending.ts';
import type { WorkflowTurn } from '../messages.ts';
import { isRunning, type WorkflowState } from '../state.ts';

/** Ends the run and everything it started: effects, executions, panel, approval, child workflows. */
export function Cancel(
  state: WorkflowState,
  { reason }: { readonly reason?: string | undefined },
  turn: WorkflowTurn,
): WorkflowState {
  if (state.status === 'pending') return turn.refuse('not_found', 'workflow execution not found');
  if (!isRunning(state)) return turn.refuse('failed_precondition', `the workflow execution is ${state.status} already`);
  const { awaiting, ...run } = state;
  const why = reason === undefined || reason === '' ? null : reason;
  release(awaiting, why ?? 'its workflow was cancelled', turn);
  for (const timer of Object.values(TIMERS)) turn.clear(timer);
  turn.reply({ cancelled: true });
  return cancelRun(run, why, turn);
}
