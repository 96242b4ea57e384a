import type { Clock } from '../clock.ts';
import { SvcError } from '../errors.ts';

/** Resolves after the delay; rejects `cancelled` when the caller gives up before. */
export async function nap(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  let end = (): void => {};
  try {
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => reject(new SvcError('cancelled', 'the caller gave up'));
      const disarm = clock.after(delayMs, resolve);
      end = () => {
        disarm();
        signal?.removeEventListener('abort', giveUp);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      if (signal?.aborted === true) giveUp();
    });
  } finally {
    end();
  }
}
