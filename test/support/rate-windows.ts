import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, systemClock } from '../../runtime/clock.ts';

/** A clock for counters of rate limits whose windows do not end while a test counts. */
export function clockThatStands(): Clock {
  const at = Date.now();
  return { ...systemClock, now: () => at };
}

/**
 * For a program that counts by the clock of this machine: when its window ends within `neededMs`, resolves once the next one has
 * begun. Else what a test counts could fall into two windows.
 */
export async function windowWithRoom(windowMs: number, neededMs: number): Promise<void> {
  const leftMs = windowMs - (Date.now() % windowMs);
  if (leftMs < neededMs) await pause(leftMs);
}
