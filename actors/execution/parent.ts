import type { Address } from '../../runtime/address.ts';
import type { ExecutionTurn } from './messages.ts';
import type { ExecutionState, IdleExecution } from './state.ts';
import type { ExecutionWord } from './word.ts';

type Word = Pick<ExecutionWord, 'status' | 'output' | 'reason' | 'score'>;

/** Tells whom the start named; nobody otherwise. */
export function tellParent(execution: IdleExecution, word: Word, turn: ExecutionTurn): void {
  const { notify } = execution;
  if (notify === undefined) return;
  const told: ExecutionWord = {
    execution_id: execution.execution_id,
    agent_id: execution.agent_id,
    iterations: execution.iteration_count,
    error: word.status === 'completed' ? null : execution.last_error,
    context: notify.context,
    ...word,
  };
  turn.tell(notify.to, notify.as, told);
}

/** The actor that started it and is told its end, or the run that it was started for; null for a run of its own. */
export function parentOf(state: ExecutionState, { tenant }: { readonly tenant: string }): Address | null {
  if (state.status === 'pending') return null;
  const { notify, workflow_execution_id } = state;
  if (notify !== undefined) return notify.to;
  return workflow_execution_id === null ? null : `workflow/${tenant}/${workflow_execution_id}`;
}
