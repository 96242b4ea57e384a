import type { JsonObject } from '../../../runtime/json.ts';
import { TIMERS } from '../ending.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionPlan } from '../plan.ts';
import type { IdleExecution, RunningExecution } from '../state.ts';
import { nothingStreamed } from '../streamed.ts';
import { errorOf, solutionOf } from './learned.ts';
import { MEMORY } from './limits.ts';
import type { MemoryWait } from './state.ts';

/** The agent wants to learn, and has something to learn from (decided.md, Iteration loop). */
export const learns = ({ plan, attempts }: { plan: ExecutionPlan; attempts: IdleExecution['attempts'] }): boolean =>
  plan.memory === true && attempts.length > 0;

/** Asks for what solved errors like the last one, before the next prompt. */
export function askForHints(execution: IdleExecution, code_diff: string, turn: ExecutionTurn): RunningExecution {
  const last = execution.attempts.at(-1);
  const error = last === undefined ? {} : errorOf(last);
  const input = { ...error, limit: MEMORY.hints, min_likeness: MEMORY.minLikeness };
  const effect_id = ask('pattern.query', input, execution, turn);
  return waiting(execution, { for: 'hints', effect_id, code_diff }, turn);
}

/** Stores what the accepted output did about the last failure; once an execution. `execution` still holds what was rejected. */
export function askToStore(
  execution: IdleExecution,
  accepted: { readonly output: string; readonly score: number },
  turn: ExecutionTurn,
): RunningExecution {
  const { attempts, execution_id, agent_name } = execution;
  const last = attempts.at(-1);
  const { approach, code } = solutionOf(execution, accepted.output);
  const input = {
    ...(last === undefined ? {} : { ...errorOf(last), error_message: last.message }),
    solution_approach: approach,
    solution_code: code,
    tags: [`agent:${agent_name}`.slice(0, 100)],
    once: execution_id,
  };
  return waiting(
    execution,
    { for: 'stored', effect_id: ask('pattern.store', input, execution, turn), ...accepted },
    turn,
  );
}

function ask(
  kind: 'pattern.query' | 'pattern.store',
  input: JsonObject,
  { iteration_count }: IdleExecution,
  turn: ExecutionTurn,
): string {
  return turn.effect({
    kind,
    mode: 'repeatable',
    input,
    replyAs: 'MemoryAnswered',
    context: { iteration: iteration_count },
    retry: { maxAttempts: 2, initialDelayMs: 200, maxDelayMs: 1_000 },
    timeoutMs: MEMORY.attemptMs,
  });
}

/** No iteration runs, so its timer bounds the waiting instead. */
function waiting(execution: IdleExecution, memory: MemoryWait, turn: ExecutionTurn): RunningExecution {
  turn.after(TIMERS.iteration, MEMORY.waitMs, 'MemoryTimedOut', { effect_id: memory.effect_id });
  return { ...execution, current: { effect_id: '', in_doubt: 0, streamed: nothingStreamed, memory } };
}
