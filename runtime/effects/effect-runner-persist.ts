import type { Clock } from '../clock.ts';
import { SvcError } from '../errors.ts';
import { pause } from '../pause.ts';
import type { Random } from '../random.ts';

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 2_000;

/**
 * Repeats a call of the store until it is answered: a call that rejects with `unavailable` may have happened, and
 * repeating is harmless (ActorStore). Other errors pass through; so does the last one when `giveUp` aborts.
 */
export async function persist<T>(
  call: () => Promise<T>,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  giveUp: AbortSignal,
): Promise<T> {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(MAX_DELAY_MS, delayMs * 2)) {
    try {
      return await call();
    } catch (error) {
      if (giveUp.aborted || !(error instanceof SvcError) || error.code !== 'unavailable') throw error;
      await pause(clock, delayMs * (0.5 + random.fraction() / 2), giveUp);
    }
  }
}
