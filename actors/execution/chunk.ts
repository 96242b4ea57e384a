import { z } from 'zod';
import type { EffectProgress } from '../../runtime/effect.ts';
import { goOn } from './inner-loop/calls.ts';
import { loopAwaiting } from './inner-loop/loop-of.ts';
import { doubtDispatch } from './inner-loop/settle-call.ts';
import type { ExecutionTurn } from './messages.ts';
import { awaiting, stream } from './outcome.ts';
import { hasOwnBootstrap } from './plan.ts';
import type { ExecutionState, RunningExecution } from './state.ts';

/** Progress value of `model.generate`, `program.run` and `agent.container`. */
const Chunk = z.object({ text: z.string() });
/** `agent.container` says it once. */
const Container = z.object({ container_id: z.string().min(1).max(200) });

/** Chunks of another effect, an older attempt or another shape are dropped: the result is the truth. */
export function takeModelChunk(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const running = loopAwaiting(state, progress.effectId)?.running ?? awaiting(state, progress.effectId);
  const chunk = Chunk.safeParse(progress.value);
  if (running === null || !chunk.success) return state;
  return stream(running, progress.attempt, chunk.data.text, turn);
}

/** With the node's own bootstrap the model's chunks are the stream, so stdout is not. */
export function takeProgramChunk(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const running = awaiting(state, progress.effectId);
  if (running === null) return state;
  const container = Container.safeParse(progress.value);
  if (container.success) return inContainer(running, container.data.container_id, turn);
  const chunk = Chunk.safeParse(progress.value);
  if (!chunk.success || !hasOwnBootstrap(running.plan)) return state;
  return stream(running, progress.attempt, chunk.data.text, turn);
}

/** Another container than before: the bootstrap that had a command to run is gone with the first. */
function inContainer(running: RunningExecution, container_id: string, turn: ExecutionTurn): ExecutionState {
  const before = running.current.container_id;
  if (before === container_id) return running;
  const known = { ...running, current: { ...running.current, container_id } };
  return before === undefined ? known : goOn(doubtDispatch(known, turn), turn);
}
