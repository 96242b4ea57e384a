import type { PanelConcluded } from '../../judge-panel/messages.ts';
import type { WorkflowTurn } from '../messages.ts';
import { finish } from '../run.ts';
import { isRunning, type WorkflowState } from '../state.ts';
import { panelResult } from '../steps/parallel-agents.ts';

/** The judge panel has its verdict, or too few judges gave one. */
export function PanelWord(state: WorkflowState, word: PanelConcluded, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'panel') return state;
  const { awaiting, ...run } = state;
  return awaiting.panel_id === word.panel_id ? finish(run, panelResult(word), turn) : state;
}
