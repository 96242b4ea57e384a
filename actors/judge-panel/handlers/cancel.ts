import { cancelPanel } from '../concluding.ts';
import type { JudgePanelTurn } from '../seats.ts';
import type { JudgePanelState } from '../state.ts';

/** Ends the panel without a verdict and stops its judges; an ended one stays as it is. */
export function Cancel(
  state: JudgePanelState,
  { reason }: { readonly reason?: string | undefined },
  turn: JudgePanelTurn,
): JudgePanelState {
  if (state.status === 'idle') return turn.refuse('not_found', 'panel not found');
  if (state.status === 'ended')
    return turn.refuse('failed_precondition', `the panel is ${state.outcome.status} already`);
  turn.reply({ cancelled: true });
  return cancelPanel(state, reason === undefined || reason === '' ? 'the panel was cancelled' : reason, turn);
}
