import { abandonIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionState } from '../state.ts';
import { stopWork } from '../stop-work.ts';

/** Stops the running work; `execution_failed` with reason `cancelled` is the last event (decided.md). */
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
