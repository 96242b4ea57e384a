import { LIVENESS_MS, type LivenessOptions, livenessBroken } from '../../support/liveness.ts';

/** Rest of the time for recovery; `sinceMs` is the end of the fault, by `performance.now()`. */
export const timeLeftMs = (sinceMs: number): number => Math.max(0, sinceMs + LIVENESS_MS - performance.now());

/** Least time for the last look: on a busy machine what a round waits for before may take all of its time for recovery. */
const LEAST_MS = 10_000;

/**
 * The end of every round: everything that the liveness check finds still under way when the time for recovery is over.
 */
export const stillUnderWay = (sinceMs: number, about: Omit<LivenessOptions, 'withinMs'>): Promise<string[]> =>
  livenessBroken({ ...about, withinMs: Math.max(LEAST_MS, timeLeftMs(sinceMs)) });

/** Total number of repeats over all names. */
export function repeatsIn(names: Iterable<string>): number {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts.values()].reduce((sum, count) => sum + count - 1, 0);
}
