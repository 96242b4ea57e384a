import { stopCalls, stopWork } from '../ending.ts';
import { abandonIteration, type IterationFailure, rejectIteration } from '../iteration.ts';
import { LIMITS } from '../limits.ts';
import type { ExecutionTurn } from '../messages.ts';
import { isHopeless, judge } from '../outcome.ts';
import { hasOwnBootstrap } from '../plan.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';
import { finalMessage } from './ask.ts';
import { withLoop } from './loop-of.ts';

/** The model has its answer: the result of the iteration, or of what a bootstrap asked. */
export function finishLoop(running: RunningExecution, content: string, turn: ExecutionTurn): ExecutionState {
  const { loop, ...current } = running.current;
  if (loop === undefined) return running;
  if (loop.by === 'node') return judge({ ...running, current }, { stdout: content, stderr: '', exit_code: 0 }, turn);
  if (Buffer.byteLength(content) > LIMITS.outputBytes) {
    const message = `the output has more than ${LIMITS.outputBytes} bytes`;
    return failLoop(running, { error_type: 'output_too_large', message }, turn);
  }
  const messages = [...loop.messages, finalMessage(content)];
  return withLoop(running, { phase: 'final', effect_id: null, calls: [], messages });
}

/**
 * The loop cannot go on, so the iteration has failed. A bootstrap of the agent's own is told instead, and decides.
 */
export function failLoop(running: RunningExecution, failure: IterationFailure, turn: ExecutionTurn): ExecutionState {
  const { loop } = running.current;
  if (loop === undefined) return running;
  if (hasOwnBootstrap(running.plan)) {
    const stopped = stopCalls(running, failure.message, turn);
    const { error_type: code, message } = failure;
    return withLoop(stopped, { phase: 'failed', effect_id: null, calls: [], failure: { code, message } });
  }
  const stopped = stopWork(running, failure.message, turn);
  if (!isHopeless(failure.error_type)) return rejectIteration(stopped, failure, turn);
  return abandonIteration(stopped, failure, { status: 'failed', reason: failure.error_type }, turn);
}
