import { keepHead } from './bounded-text.ts';
import { closeSessions } from './inner-loop/audit.ts';
import { LIMITS } from './limits.ts';
import type { ExecutionTurn } from './messages.ts';
import { tellParent } from './parent.ts';
import type { EndedExecution, IdleExecution } from './state.ts';

/** Names of the two timers an execution may have. */
export const TIMERS = { iteration: 'iteration', execution: 'execution' } as const;

/** `score`: the lowest of its validators. */
export function completeExecution(
  execution: IdleExecution,
  output: string,
  score: number,
  turn: ExecutionTurn,
): EndedExecution {
  const endedAt = new Date(turn.now).toISOString();
  turn.emit('execution_completed', {
    execution_id: execution.execution_id,
    final_output: output,
    total_iterations: execution.iteration_count,
    completed_at: endedAt,
  });
  tellParent(execution, { status: 'completed', output, reason: null, score }, turn);
  return end(execution, 'completed', null, endedAt, turn);
}

/** `reason` is the wire's: `max_iterations_exceeded`, `timed_out`, `cancelled`, or the error code that ended it. */
export function failExecution(
  execution: IdleExecution,
  status: 'failed' | 'cancelled',
  reason: string,
  turn: ExecutionTurn,
): EndedExecution {
  const endedAt = new Date(turn.now).toISOString();
  turn.emit('execution_failed', {
    execution_id: execution.execution_id,
    reason,
    total_iterations: execution.iteration_count,
    failed_at: endedAt,
  });
  tellParent(execution, { status, output: null, reason, score: 0 }, turn);
  return end(execution, status, reason, endedAt, turn);
}

function end(
  execution: IdleExecution,
  status: EndedExecution['status'],
  reason: string | null,
  endedAt: string,
  turn: ExecutionTurn,
): EndedExecution {
  turn.clear(TIMERS.iteration);
  turn.clear(TIMERS.execution);
  closeSessions(execution, status, turn);
  const { plan: _plan, input: _input, variables: _variables, identity: _identity, ...rest } = execution;
  const { grant: _grant, sessions: _sessions, tool_history: _history, hints: _hints, ...kept } = rest;
  const lastError = execution.last_error ?? reason;
  return {
    ...kept,
    status,
    reason,
    last_error: status === 'completed' || lastError === null ? null : keepHead(lastError, LIMITS.keptErrorChars),
    ended_at: endedAt,
    updated_at: endedAt,
  };
}
