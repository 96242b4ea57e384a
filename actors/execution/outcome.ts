import type { EffectResult } from '../../runtime/effect.ts';
import { iterationEffect } from './effects.ts';
import { stopCalls, stopWork } from './ending.ts';
import { isHopeless } from './hopeless.ts';
import { finalMessage } from './inner-loop/ask.ts';
import { doubtDispatch } from './inner-loop/settle-call.ts';
import { abandonIteration, type IterationFailure, rejectIteration } from './iteration.ts';
import { validateFrom } from './judging.ts';
import { LIMITS } from './limits.ts';
import type { ExecutionTurn } from './messages.ts';
import { withLoop } from './phase.ts';
import { hasOwnBootstrap } from './plan.ts';
import { renderPrompt } from './prompt.ts';
import { deathsInARow, type ExecutionState, progressOf, type RunningExecution } from './state.ts';
import { expectRepeat, takeChunk } from './streamed.ts';
import type { IterationResult } from './validators/json-schema.ts';

/** Validates a result. Without validators a model's result is accepted, and a program's if it exits with 0 (W23). */
export function judgeResult(running: RunningExecution, result: IterationResult, turn: ExecutionTurn): ExecutionState {
  if (Buffer.byteLength(result.stdout) > LIMITS.outputBytes) {
    const message = `the output has more than ${LIMITS.outputBytes} bytes`;
    return rejectIteration(running, { error_type: 'output_too_large', message, exit_code: result.exit_code }, turn);
  }
  return validateFrom(running, { result: { ...result, ...toolsOf(running) }, verdicts: [] }, turn);
}

/** Successful tools, for `tool_call` validators; nothing is stored if there is no such validator. */
function toolsOf({ plan, tool_history }: RunningExecution): Pick<IterationResult, 'tools'> {
  if (!plan.validators.some(({ type }) => type === 'tool_call')) return {};
  return { tools: tool_history.filter(({ status }) => status === 'succeeded').map(({ tool }) => tool) };
}

type NotDone = Exclude<EffectResult['outcome'], { kind: 'done' }>;

/** The failure for a repeatable effect that ended without a value. */
export const failureOf = (outcome: NotDone): IterationFailure =>
  outcome.kind === 'failed'
    ? { error_type: outcome.code, message: outcome.message }
    : { error_type: 'in_doubt', message: 'its node died while it was asked' };

/** The iteration's effect, a program or a model, ended without a value. */
export function effectFailed(running: RunningExecution, outcome: NotDone, turn: ExecutionTurn): ExecutionState {
  if (outcome.kind === 'in_doubt') return inDoubt(running, turn);
  const failure: IterationFailure = { error_type: outcome.code, message: outcome.message };
  const stopped = stopCalls(running, failure.message, turn);
  if (!isHopeless(outcome.code)) return rejectIteration(stopped, failure, turn);
  return abandonIteration(stopped, failure, { status: 'failed', reason: outcome.code }, turn);
}

/** Streams a chunk of the running iteration, unless it was sent already or exceeds the limit. */
export function stream(running: RunningExecution, attempt: number, text: string, turn: ExecutionTurn): ExecutionState {
  const before = running.current.streamed;
  const { streamed, send } = takeChunk(before, attempt, text);
  if (streamed === before) return running;
  if (send !== '') {
    turn.emit('iteration_output', {
      execution_id: running.execution_id,
      iteration_number: running.iteration_count,
      output: send,
    });
  }
  return { ...running, current: { ...running.current, streamed } };
}

const UNREPEATED = 'the program had started when its node died; it was not repeated';

/**
 * The effect had started when its node died, so it is unknown whether it acted (E2). An iteration may be repeated as a whole,
 * so by default the effect is requested again and counted in the state; with `svc.dev/on-in-doubt: fail` the iteration fails.
 */
function inDoubt(running: RunningExecution, turn: ExecutionTurn): ExecutionState {
  const { current, plan } = running;
  const inARow = deathsInARow(current);
  const message = plan.program?.on_in_doubt === 'fail' ? UNREPEATED : givenUp(current, inARow);
  if (message !== null) {
    return rejectIteration(stopCalls(running, message, turn), { error_type: 'in_doubt', message }, turn);
  }
  const prompt = renderPrompt(running, running.iteration_count);
  const effectId = turn.effect(iterationEffect(running, prompt, turn.now));
  const doubted = doubtDispatch(running, turn);
  return {
    ...doubted,
    in_doubt: running.in_doubt + 1,
    current: {
      // The loop stays: a new bootstrap with the same request finds the calls that have run.
      ...doubted.current,
      effect_id: effectId,
      in_doubt: current.in_doubt + 1,
      last_doubt: { in_a_row: inARow, progress: progressOf(current) },
      streamed: expectRepeat(current.streamed),
    },
  };
}

/** The reason why it is not repeated again; null when it may be. */
function givenUp({ in_doubt }: RunningExecution['current'], inARow: number): string | null {
  if (inARow > LIMITS.inDoubtRepeats) {
    return `its node died ${inARow} times in a row while the program ran and got no further; it was not repeated again`;
  }
  if (in_doubt < LIMITS.inDoubtRepeatsInAll) return null;
  return `its node died ${in_doubt + 1} times while the program ran; it was not repeated again`;
}

/** The model has answered without requesting tools: the result of the iteration, or the answer to the bootstrap. */
export function finishLoop(running: RunningExecution, content: string, turn: ExecutionTurn): ExecutionState {
  const { loop, ...current } = running.current;
  if (loop?.by !== 'gateway') {
    return judgeResult({ ...running, current }, { stdout: content, stderr: '', exit_code: 0 }, turn);
  }
  if (Buffer.byteLength(content) > LIMITS.outputBytes) {
    const message = `the output has more than ${LIMITS.outputBytes} bytes`;
    return failLoop(running, { error_type: 'output_too_large', message }, turn);
  }
  const messages = [...loop.messages, finalMessage(content)];
  return withLoop(running, { phase: 'final', effect_id: null, calls: [], messages });
}

/** The loop cannot continue, so the iteration has failed. An agent's own bootstrap gets the error and decides itself. */
export function failLoop(running: RunningExecution, failure: IterationFailure, turn: ExecutionTurn): ExecutionState {
  if (hasOwnBootstrap(running.plan)) {
    const stopped = stopCalls(running, failure.message, turn);
    const { error_type: code, message } = failure;
    return withLoop(stopped, { phase: 'failed', effect_id: null, calls: [], failure: { code, message } });
  }
  const stopped = stopWork(running, failure.message, turn);
  if (!isHopeless(failure.error_type)) return rejectIteration(stopped, failure, turn);
  return abandonIteration(stopped, failure, { status: 'failed', reason: failure.error_type }, turn);
}
