import { z } from 'zod';
import type { EffectProgress, EffectResult } from '../../../runtime/effect.ts';
import { keepTail } from '../bounded-text.ts';
import { stopCalls } from '../ending.ts';
import { isHopeless } from '../hopeless.ts';
import { continueLoop } from '../inner-loop/calls.ts';
import { doubtDispatch } from '../inner-loop/settle-call.ts';
import { abandonIteration, rejectIteration, timeIterationOut } from '../iteration.ts';
import { LIMITS } from '../limits.ts';
import type { ExecutionTurn } from '../messages.ts';
import { effectFailed, judgeResult, stream } from '../outcome.ts';
import { awaited } from '../phase.ts';
import { hasOwnBootstrap } from '../plan.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';

/** Result value of the effects `program.run` and `agent.container`. */
const ProgramEnd = z.object({
  exit_code: z.number().int().nullable(),
  signal: z.string().nullish(),
  stdout: z.string(),
  stderr: z.string().default(''),
  stdout_truncated: z.boolean().default(false),
  timed_out: z.boolean().default(false),
  /** The limit that it exceeded, so that its node stopped it: `memory`, `processes`. */
  stopped_by: z.string().max(100).optional(),
});

type ProgramEnd = z.output<typeof ProgramEnd>;

/** The program or the container of the iteration has ended. */
export function ProgramEnded(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'ProgramEnded', result.effectId);
  if (found === null) return state;
  const { running } = found;
  if (result.outcome.kind !== 'done') return endedWithoutResult(running, result.outcome, turn);
  const stopped = stopCalls(running, 'the program of the agent has ended', turn);
  const end = ProgramEnd.safeParse(result.outcome.value);
  if (!end.success) {
    const message = 'the result of the program is malformed';
    return rejectIteration(stopped, { error_type: 'program_failed', message }, turn);
  }
  if (end.data.timed_out) return timeIterationOut(stopped, turn);
  return takeEnd(stopped, end.data, turn);
}

/** A program that is run again gets the loop as it was. Meanwhile the loop continues; its open command is in doubt. */
function endedWithoutResult(
  running: RunningExecution,
  outcome: Exclude<EffectResult['outcome'], { readonly kind: 'done' }>,
  turn: ExecutionTurn,
): ExecutionState {
  const after = effectFailed(running, outcome, turn);
  const isRepeated = after.status === 'running' && after.iteration_count === running.iteration_count;
  return isRepeated ? continueLoop(after, turn) : after;
}

function takeEnd(running: RunningExecution, end: ProgramEnd, turn: ExecutionTurn): ExecutionState {
  const { stdout, stderr, exit_code, signal } = end;
  const { current } = running;
  const final = answerOfLoop(running);
  if (final !== null && exit_code === 0) return judgeResult(running, { stdout: final, stderr: '', exit_code }, turn);
  if (end.stdout_truncated) {
    const message = `the output has more than ${LIMITS.outputBytes} bytes`;
    return rejectIteration(running, { error_type: 'output_too_large', message, output: stdout, exit_code }, turn);
  }
  const bySignal = exit_code === null || (signal !== undefined && signal !== null);
  const unchecked = running.plan.validators.length === 0 && exit_code !== 0;
  if (!bySignal && !unchecked) return judgeResult(running, { stdout, stderr, exit_code }, turn);
  const limit = end.stopped_by === undefined ? '' : ` at its limit of ${end.stopped_by}`;
  const refused = current.loop?.phase === 'failed' ? current.loop.failure : null;
  if (refused !== null && isHopeless(refused.code)) {
    const failure = { error_type: refused.code, message: refused.message, output: stdout, exit_code };
    return abandonIteration(running, failure, { status: 'failed', reason: refused.code }, turn);
  }
  const how = bySignal ? `was ended by ${signal ?? 'a signal'}${limit}` : `ended with exit code ${exit_code}`;
  const said = stderr.trim();
  const failure = {
    error_type: 'program_failed',
    message: said === '' ? `the program ${how}` : `the program ${how}: ${keepTail(said, 1_000)}`,
    output: stdout,
    exit_code,
    stacktrace: said === '' ? undefined : keepTail(said, LIMITS.stderrTailChars),
  };
  return rejectIteration(running, failure, turn);
}

/** With the node's own bootstrap the loop's answer is the output, as it is when the loop runs in the node. */
function answerOfLoop({ plan, current }: RunningExecution): string | null {
  if (hasOwnBootstrap(plan) || current.loop?.phase !== 'final') return null;
  const content = current.loop.messages.at(-1)?.content;
  return typeof content === 'string' ? content : null;
}

/** A piece of stdout. */
const Chunk = z.object({ text: z.string() });

/** `agent.container` sends it once. */
const Container = z.object({ container_id: z.string().min(1).max(200) });

/**
 * A streamed piece of the program's stdout, or the id of the agent's container. With the node's own bootstrap the model's
 * chunks are streamed instead of stdout.
 */
export function ProgramChunk(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'ProgramChunk', progress.effectId);
  if (found === null) return state;
  const { running } = found;
  const container = Container.safeParse(progress.value);
  if (container.success) return inContainer(running, container.data.container_id, turn);
  const chunk = Chunk.safeParse(progress.value);
  if (!chunk.success || !hasOwnBootstrap(running.plan)) return state;
  return stream(running, progress.attempt, chunk.data.text, turn);
}

/** The iteration now runs in another container, so the bootstrap that had a command to run is gone with the first one. */
function inContainer(running: RunningExecution, container_id: string, turn: ExecutionTurn): ExecutionState {
  const before = running.current.container_id;
  if (before === container_id) return running;
  const known = { ...running, current: { ...running.current, container_id } };
  return before === undefined ? known : continueLoop(doubtDispatch(known, turn), turn);
}
