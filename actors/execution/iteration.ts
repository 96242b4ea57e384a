import { toSvcError } from '../../runtime/errors.ts';
import { keepHead } from './bounded-text.ts';
import { iterationEffect } from './effects.ts';
import { completeExecution, failExecution, TIMERS } from './ending.ts';
import { outputDiff } from './history.ts';
import { beginLoop, userMessage } from './inner-loop/ask.ts';
import { LIMITS } from './limits.ts';
import { askForHints, askToStore } from './memory/ask.ts';
import type { ExecutionTurn } from './messages.ts';
import { phaseOf } from './phase.ts';
import { hasOwnBootstrap, runsInNode, wantsTools } from './plan.ts';
import { renderPrompt } from './prompt.ts';
import type { ExecutionState, IdleExecution, RunningExecution, Verdict } from './state.ts';
import { nothingStreamed } from './streamed.ts';

/** Why an iteration was not accepted. */
export interface IterationFailure {
  readonly error_type: string;
  readonly message: string;
  readonly stacktrace?: string | undefined;
  /** Null or absent: there is none. */
  readonly output?: string | null;
  readonly exit_code?: number | null;
  readonly verdicts?: readonly Verdict[];
}

/** Starts the next iteration. Throws an SvcError when its prompt cannot be rendered. */
export function beginIteration(idle: IdleExecution, turn: ExecutionTurn): RunningExecution {
  const number = idle.iteration_count + 1;
  const startedAt = new Date(turn.now).toISOString();
  const execution = { ...idle, iteration_count: number, updated_at: startedAt };
  const prompt = renderPrompt(execution, number);
  turn.emit('iteration_started', {
    execution_id: execution.execution_id,
    iteration_number: number,
    action: hasOwnBootstrap(execution.plan) ? 'run' : 'generate',
    started_at: startedAt,
  });
  turn.after(TIMERS.iteration, execution.plan.iteration_timeout_ms, 'IterationTimedOut', { iteration: number });
  return askIteration(execution, prompt, turn);
}

/** Requests the iteration's first effect. */
export function askIteration(execution: IdleExecution, prompt: string, turn: ExecutionTurn): RunningExecution {
  const current = { effect_id: '', in_doubt: 0, streamed: nothingStreamed };
  if (runsInNode(execution.plan) && wantsTools(execution.plan)) {
    const { model } = execution.plan;
    const beginning = { by: 'node' as const, request: '', model, messages: [userMessage(prompt)] };
    return beginLoop({ ...execution, current }, beginning, turn);
  }
  return {
    ...execution,
    current: { ...current, effect_id: turn.effect(iterationEffect(execution, prompt, turn.now)) },
  };
}

/**
 * Accepts the running iteration: iteration_completed, then execution_completed. The score is the lowest of the
 * verdicts.
 */
export function acceptIteration(
  running: RunningExecution,
  output: string,
  verdicts: readonly Verdict[],
  turn: ExecutionTurn,
): ExecutionState {
  turn.emit('iteration_completed', {
    execution_id: running.execution_id,
    iteration_number: running.iteration_count,
    output,
    completed_at: new Date(turn.now).toISOString(),
  });
  const score = Math.min(1, ...verdicts.map((verdict) => verdict.score));
  const idle = { ...idleOf(running), last_error: null };
  const storing = askToStore(idle, { output, score }, turn);
  if (storing !== null) return storing;
  return completeExecution({ ...idle, last_output: keepHead(output, LIMITS.keptOutputChars) }, output, score, turn);
}

/**
 * Rejects the running iteration: iteration_failed, then refinement and the next iteration, or the end when none is
 * left.
 */
export function rejectIteration(
  running: RunningExecution,
  failure: IterationFailure,
  turn: ExecutionTurn,
): ExecutionState {
  const closed = closeIteration(running, failure, turn);
  if (closed.iteration_count >= closed.plan.max_iterations) {
    return failExecution(closed, 'failed', 'max_iterations_exceeded', turn);
  }
  const codeDiff = outputDiff(running.last_output, closed.last_output);
  return askForHints(closed, codeDiff, turn) ?? refineIteration(closed, codeDiff, turn);
}

/** The iteration timed out: by its timer, or because its runner stopped the program at the same limit. */
export function timeIterationOut(running: RunningExecution, turn: ExecutionTurn): ExecutionState {
  const message = `the iteration took longer than ${running.plan.iteration_timeout_ms} ms${stillJudged(running)}`;
  return rejectIteration(running, { error_type: 'iteration_timed_out', message }, turn);
}

function stillJudged(running: RunningExecution): string {
  const phase = phaseOf(running);
  if (phase.kind !== 'judging') return '';
  const { kind } = phase.judging.by;
  if (kind === 'panel' || kind === 'model') return ', its judges included, which had not answered';
  return `, its validator ${kind === 'script' ? 'script' : 'of files'} included, which had not ended`;
}

/** After a failed iteration: refinement_applied, then the next iteration. */
export function refineIteration(closed: IdleExecution, code_diff: string, turn: ExecutionTurn): ExecutionState {
  turn.emit('refinement_applied', {
    execution_id: closed.execution_id,
    iteration_number: closed.iteration_count,
    code_diff,
    applied_at: new Date(turn.now).toISOString(),
  });
  return beginOrFail(closed, turn);
}

/** Starts the next iteration, or ends the execution when its prompt cannot be rendered. */
export function beginOrFail(idle: IdleExecution, turn: ExecutionTurn): ExecutionState {
  try {
    return beginIteration(idle, turn);
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (error.code === 'internal') throw thrown;
    return failExecution({ ...idle, last_error: error.message }, 'failed', error.code, turn);
  }
}

/**
 * Ends the execution while it runs. An open iteration is closed first, so that none stays open on the stream. An execution
 * whose output was accepted already completes.
 */
export function abandonIteration(
  running: RunningExecution,
  failure: IterationFailure,
  end: { readonly status: 'failed' | 'cancelled'; readonly reason: string },
  turn: ExecutionTurn,
): ExecutionState {
  const phase = phaseOf(running);
  const isOpen =
    phase.kind !== 'memory' && phase.kind !== 'context' && (phase.kind !== 'worker' || phase.forwarded.open);
  if (isOpen) return failExecution(closeIteration(running, failure, turn), end.status, end.reason, turn);
  const idle = idleOf(running);
  if (phase.kind === 'memory' && phase.memory.for === 'stored') {
    const { output, score } = phase.memory;
    return completeExecution({ ...idle, last_output: keepHead(output, LIMITS.keptOutputChars) }, output, score, turn);
  }
  const last_error = keepHead(`${failure.error_type}: ${failure.message}`, LIMITS.keptErrorChars);
  return failExecution({ ...idle, last_error }, end.status, end.reason, turn);
}

/** Ends the open iteration as failed, with its attempt in the record. */
export function closeIteration(
  running: RunningExecution,
  failure: IterationFailure,
  turn: ExecutionTurn,
): IdleExecution {
  const message = keepHead(failure.message, LIMITS.keptErrorChars);
  turn.emit('iteration_failed', {
    execution_id: running.execution_id,
    iteration_number: running.iteration_count,
    error: { error_type: failure.error_type, message, stacktrace: failure.stacktrace },
    failed_at: new Date(turn.now).toISOString(),
  });
  // An iteration that ends while it is judged already has a result.
  const { result, verdicts = [] } = running.current.judging ?? {};
  const output = failure.output ?? result?.stdout ?? null;
  return {
    ...idleOf(running),
    attempts: [
      ...running.attempts,
      {
        iteration: running.iteration_count,
        error_type: failure.error_type,
        message: keepHead(failure.message, LIMITS.keptAttemptChars),
        output: output === null ? null : keepHead(output, LIMITS.keptAttemptChars),
        exit_code: failure.exit_code ?? result?.exit_code ?? null,
        verdicts: [...(failure.verdicts ?? verdicts)],
      },
    ],
    last_output: output === null ? running.last_output : keepHead(output, LIMITS.keptOutputChars),
    last_error: keepHead(`${failure.error_type}: ${message}`, LIMITS.keptErrorChars),
  };
}

export function idleOf(running: RunningExecution): IdleExecution {
  const { current: _current, ...idle } = running;
  return idle;
}
