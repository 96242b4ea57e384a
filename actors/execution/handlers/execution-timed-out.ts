import { abandonIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionState } from '../state.ts';

/** The whole execution took too long: status `failed`, reason `timed_out` (decided.md). */
export function ExecutionTimedOut(
  state: ExecutionState,
  _message: Readonly<Record<string, never>>,
  turn: ExecutionTurn,
): ExecutionState {
  if (state.status !== 'running') return state;
  turn.cancelEffect(state.current.effect_id);
  const message = `the execution took longer than ${state.plan.execution_timeout_ms} ms`;
  return abandonIteration(state, { error_type: 'timed_out', message }, { status: 'failed', reason: 'timed_out' }, turn);
}
