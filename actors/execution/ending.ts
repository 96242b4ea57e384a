import { addressOf } from '../../runtime/address.ts';
import { keepHead } from './bounded-text.ts';
import { closeSessions } from './inner-loop/audit.ts';
import { breakOffCalls } from './inner-loop/settle-call.ts';
import { LIMITS } from './limits.ts';
import { type ExecutionTurn, notifyParent } from './messages.ts';
import { phaseOf, type Wait, waitsOf, waitsOfLoop } from './phase.ts';
import type { EndedExecution, IdleExecution, RunningExecution } from './state.ts';

/** Names of the two timers an execution may have. */
export const TIMERS = { iteration: 'iteration', execution: 'execution' } as const;

/** `score`: the lowest of the verdicts. */
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
  notifyParent(execution, { status: 'completed', output, reason: null, score }, turn);
  return end(execution, 'completed', null, endedAt, turn);
}

/** How an execution ended that was not completed. */
export interface EndError {
  /** A code of the error table. */
  readonly code: string;
  /** One sentence with the cause. */
  readonly message: string;
  /** The error of the last iteration, when it differs. */
  readonly cause: string | null;
}

/** The error of an ended execution; null when it completed. */
export function endErrorOf({
  status,
  reason,
  last_error,
  iteration_count,
}: Pick<EndedExecution, 'reason' | 'last_error' | 'iteration_count'> & { readonly status: string }): EndError | null {
  if (status === 'completed' || reason === null) return null;
  if (reason !== 'max_iterations_exceeded') {
    const prefix = `${reason}: `;
    const message = last_error?.startsWith(prefix) === true ? last_error.slice(prefix.length) : (last_error ?? reason);
    return { code: reason, message, cause: null };
  }
  const none = `none of ${iteration_count} iterations was accepted`;
  return {
    code: reason,
    message: last_error === null ? none : `${none}; the last one: ${last_error}`,
    cause: last_error,
  };
}

/**
 * `reason`, as clients see it: `max_iterations_exceeded`, `timed_out`, `cancelled`, or the code of the error that ended
 * it.
 */
export function failExecution(
  execution: IdleExecution,
  status: 'failed' | 'cancelled',
  reason: string,
  turn: ExecutionTurn,
): EndedExecution {
  const endedAt = new Date(turn.now).toISOString();
  const { execution_id, iteration_count, last_error } = execution;
  turn.emit('execution_failed', {
    execution_id,
    reason,
    total_iterations: iteration_count,
    failed_at: endedAt,
    message: endErrorOf({ status, reason, last_error, iteration_count })?.message ?? reason,
  });
  notifyParent(execution, { status, output: null, reason, score: 0 }, turn);
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
  const { grant: _grant, sessions: _sessions, tool_history: _history, hints: _hints, ...known } = rest;
  const { context_text: _context, ...kept } = known;
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

/** Stops everything that the running execution waits for. Calls that have begun are recorded as `breakOffCalls` says. */
export function stopWork(running: RunningExecution, reason: string, turn: ExecutionTurn): RunningExecution {
  for (const wait of waitsOf(phaseOf(running))) stopWait(wait, reason, turn);
  return breakOffCalls(running, reason, turn);
}

/** Stops everything that only the inner loop waits for. Its program has ended, or continues without the loop. */
export function stopCalls(running: RunningExecution, reason: string, turn: ExecutionTurn): RunningExecution {
  const { loop } = running.current;
  for (const wait of loop === undefined ? [] : waitsOfLoop(loop)) stopWait(wait, reason, turn);
  return breakOffCalls(running, reason, turn);
}

function stopWait({ kind, id }: Wait, reason: string, turn: ExecutionTurn): void {
  switch (kind) {
    case 'panel':
    case 'call judges':
      turn.tell(addressOf('judge-panel', turn.tenant, id), 'Cancel', { reason });
      return;
    // The bootstrap runs the command; its report is refused, since no dispatch is open then.
    case 'dispatch':
      return;
    default:
      turn.cancelEffect(id);
  }
}

/**
 * When the running iteration times out, or the execution if that is earlier or no iteration has begun; Unix ms.
 * `updated_at` is when the iteration began.
 */
export function endOfIteration({ started_at, updated_at, plan, iteration_count }: RunningExecution): number {
  const executionEnds = Date.parse(started_at) + plan.execution_timeout_ms;
  if (iteration_count === 0) return executionEnds;
  const iterationEnds = Date.parse(updated_at) + plan.iteration_timeout_ms;
  return Math.min(iterationEnds, executionEnds);
}

const MARGIN_MS = 5_000;

/**
 * Time limit of a judge: the manifest's, or less, so that it ends before the iteration does and a judge that hangs is dropped
 * or skipped before the iteration itself times out.
 */
export function judgeTimeoutMs(running: RunningExecution, askedMs: number, now: number): number {
  const leftMs = endOfIteration(running) - now;
  return Math.max(1, Math.min(askedMs, Math.floor(leftMs - Math.min(MARGIN_MS, leftMs / 10))));
}
