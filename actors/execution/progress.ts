import type { RunningExecution } from './state.ts';

type Iteration = RunningExecution['current'];

/**
 * A loop that a program began has come further: the model has answered, or a call has ended. A call in doubt is not
 * among them, since it may be what ended the node.
 */
export function progressed(running: RunningExecution): RunningExecution {
  const { current } = running;
  if (current.loop?.by !== 'gateway') return running;
  return { ...running, current: { ...current, progress: progressOf(current) + 1 } };
}

/** Deaths of the node without progress in between, one that came just now included. */
export function deathsInARow({ in_doubt, last_doubt, ...current }: Iteration): number {
  if (last_doubt === undefined) return in_doubt + 1;
  return progressOf(current) > last_doubt.progress ? 1 : last_doubt.in_a_row + 1;
}

export const progressOf = ({ progress = 0 }: Pick<Iteration, 'progress'>): number => progress;
