import { z } from 'zod';
import type { EffectProgress } from '../../runtime/effect.ts';
import type { ExecutionTurn } from './messages.ts';
import { awaiting, stream } from './outcome.ts';
import type { ExecutionState } from './state.ts';

/** Progress value of `model.generate` and `program.run`. */
const Chunk = z.object({ text: z.string() });

/** Chunks of another effect, an older attempt or another shape are dropped: the result is the truth. */
export function takeProgress(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const running = awaiting(state, progress.effectId);
  const chunk = Chunk.safeParse(progress.value);
  if (running === null || !chunk.success) return state;
  return stream(running, progress.attempt, chunk.data.text, turn);
}
