import { z } from 'zod';
import type { EffectResult } from '../../../runtime/effect.ts';
import { keepTail } from '../bounded-text.ts';
import { goOn } from '../inner-loop/calls.ts';
import { rejectIteration } from '../iteration.ts';
import { LIMITS } from '../limits.ts';
import type { ExecutionTurn } from '../messages.ts';
import { awaiting, judge, undone } from '../outcome.ts';
import { hasOwnBootstrap } from '../plan.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';
import { stopCalls } from '../stop-work.ts';
import { timeIterationOut } from './iteration-timed-out.ts';

/** Result value of the effects `program.run` and `agent.container`. */
const ProgramEnd = z.object({
  exit_code: z.number().int().nullable(),
  signal: z.string().nullish(),
  stdout: z.string(),
  stderr: z.string().default(''),
  stdout_truncated: z.boolean().default(false),
  timed_out: z.boolean().default(false),
  /** The limit for which its node ended it: `memory`, `processes`. */
  stopped_by: z.string().max(100).optional(),
});
type ProgramEnd = z.output<typeof ProgramEnd>;

export function ProgramEnded(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const running = awaiting(state, result.effectId);
  if (running === null) return state;
  if (result.outcome.kind !== 'done') return withoutEnd(running, result.outcome, turn);
  const stopped = stopCalls(running, 'the program of the agent has ended', turn);
  const end = ProgramEnd.safeParse(result.outcome.value);
  if (!end.success) {
    const message = 'the result of the program is malformed';
    return rejectIteration(stopped, { error_type: 'program_failed', message }, turn);
  }
  if (end.data.timed_out) return timeIterationOut(stopped, turn);
  return decide(stopped, end.data, turn);
}

/** A repeated program finds its loop where it is; a command in doubt is told to the model meanwhile. */
function withoutEnd(
  running: RunningExecution,
  outcome: Exclude<EffectResult['outcome'], { readonly kind: 'done' }>,
  turn: ExecutionTurn,
): ExecutionState {
  const after = undone(running, outcome, turn);
  const goesOn = after.status === 'running' && after.iteration_count === running.iteration_count;
  return goesOn ? goOn(after, turn) : after;
}

function decide(running: RunningExecution, end: ProgramEnd, turn: ExecutionTurn): ExecutionState {
  const { stdout, stderr, exit_code, signal } = end;
  const final = loopResult(running);
  if (final !== null && exit_code === 0) return judge(running, { stdout: final, stderr: '', exit_code }, turn);
  if (end.stdout_truncated) {
    const message = `the output has more than ${LIMITS.outputBytes} bytes`;
    return rejectIteration(running, { error_type: 'output_too_large', message, output: stdout, exit_code }, turn);
  }
  const bySignal = exit_code === null || (signal !== undefined && signal !== null);
  const unchecked = running.plan.validators.length === 0 && exit_code !== 0;
  if (!bySignal && !unchecked) return judge(running, { stdout, stderr, exit_code }, turn);
  const limit = end.stopped_by === undefined ? '' : ` at its limit of ${end.stopped_by}`;
  const how = bySignal ? `was ended by ${signal ?? 'a signal'}${limit}` : `ended with exit code ${exit_code}`;
  const said = stderr.trim();
  const failure = {
    error_type: 'program_failed',
    message: said === '' ? `the program ${how}` : `the program ${how}: ${keepTail(said, 1_000)}`,
    output: stdout,
    exit_code,
    ...(said === '' ? {} : { stacktrace: keepTail(said, LIMITS.stderrTailChars) }),
  };
  return rejectIteration(running, failure, turn);
}

/** With the node's own bootstrap the answer of the loop is the output, the same as where the loop runs in the node. */
function loopResult({ plan, current }: RunningExecution): string | null {
  if (hasOwnBootstrap(plan) || current.loop?.phase !== 'final') return null;
  const content = current.loop.messages.at(-1)?.content;
  return typeof content === 'string' ? content : null;
}
