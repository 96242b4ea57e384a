import type { ExecutionTurn } from './messages.ts';
import type { IdleExecution } from './state.ts';
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
