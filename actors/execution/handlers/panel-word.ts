import type { PanelConcluded } from '../../judge-panel/messages.ts';
import { callJudged } from '../inner-loop/handlers/call-judged.ts';
import { panelVerdict } from '../judge-verdict.ts';
import { askedJudge, settle } from '../judging.ts';
import type { ExecutionTurn } from '../messages.ts';
import { needsPanel } from '../plan.ts';
import type { ExecutionState } from '../state.ts';

/** The judges of the running iteration's result, or of a proposed tool call, have their verdict, or too few gave one. */
export function PanelWord(state: ExecutionState, word: PanelConcluded, turn: ExecutionTurn): ExecutionState {
  const asked = askedJudge(state, (by) => by.kind === 'panel' && by.panel_id === word.panel_id);
  if (asked === null) return callJudged(state, word, turn);
  if (!needsPanel(asked.check)) return state;
  return settle(asked.running, asked.judging, panelVerdict(asked.check, word), turn);
}
