import type { ExecutionWord } from '../../execution/word.ts';
import { cancelUnwanted, settle } from '../children.ts';
import type { WorkflowTurn } from '../messages.ts';
import { finish } from '../run.ts';
import { isRunning, type WorkflowState } from '../state.ts';
import { agentResult } from '../steps/agent.ts';

/** An agent's execution started or ended. One that is no longer wanted is cancelled when it says it started. */
export function AgentWord(state: WorkflowState, word: ExecutionWord, turn: WorkflowTurn): WorkflowState {
  const awaiting = isRunning(state) && state.awaiting.kind === 'agent' ? state.awaiting : null;
  if (!isRunning(state) || awaiting?.execution_id !== word.execution_id) {
    cancelUnwanted('execution', word, turn);
    return state;
  }
  if (word.status === 'running') return state;
  const { awaiting: _awaiting, ...run } = state;
  settle(awaiting.effect_id, turn);
  return finish(run, agentResult(word), turn);
}
