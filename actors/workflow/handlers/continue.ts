import type { WorkflowTurn } from '../messages.ts';
import { advance } from '../run.ts';
import { isRunning, type WorkflowState } from '../state.ts';

/** The next stretch of a long chain of states that need nobody. */
export function Continue(
  state: WorkflowState,
  { entry }: { readonly entry: number },
  turn: WorkflowTurn,
): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'turn' || state.entry !== entry) return state;
  const { awaiting: _awaiting, ...run } = state;
  return advance(run, state.awaiting.target, turn);
}
