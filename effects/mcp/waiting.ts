import type { Clock } from '../../runtime/clock.ts';

/** Resolves after `ms`, or when `signal` aborts; never rejects. */
export function waiting(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) return done();
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', stop);
      done();
    });
    const stop = (): void => {
      cancel();
      done();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
