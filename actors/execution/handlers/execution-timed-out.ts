import { abandonIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionState } from '../state.ts';
import { stopWork } from '../stop-work.ts';

/** The whole execution took too long: status `failed`, reason `timed_out` (decided.md). */
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
