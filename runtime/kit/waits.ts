import type { Clock } from '../clock.ts';
import type { Random } from '../random.ts';

type Timers = Pick<Clock, 'after'>;

/** Resolves after the delay, or as soon as the signal is aborted. Never rejects. */
export function sleep(clock: Timers, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}

/**
 * Repeats work until the returned function is called, which resolves when the last run has ended. A pause is before each run and
 * begins at the end of the one before.
 */
export function repeat(clock: Timers, pauseMs: number, work: () => Promise<unknown>): () => Promise<void> {
  let isOver = false;
  let cancel = (): void => {};
  let running: Promise<unknown> = Promise.resolve();
  const arm = (): void => {
    if (isOver) return;
    cancel = clock.after(pauseMs, () => {
      running = work().finally(arm);
    });
  };
  arm();
  return async () => {
    isOver = true;
    cancel();
    await running;
  };
}

/** Lets waiting turns and calls run before the caller continues. */
export const turnsFirst = (): Promise<void> => new Promise((resume) => void setImmediate(resume));

/** Resolves when the work has ended or the time limit is reached. Rejects when the work fails in time. */
export async function within(clock: Timers, limitMs: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = clock.after(limitMs, late.resolve);
  await Promise.race([work, late.promise]).finally(cancel);
}

/**
 * Waits for work, at most until the signal is aborted, even when the work ignores the signal. Rejects with the signal's
 * reason then.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (signal.aborted) stop();
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Exponential backoff: `firstMs` after no failure, twice that after each further one, at most `mostMs`. */
export const backoffMs = (failures: number, firstMs: number, mostMs: number): number =>
  Math.min(mostMs, firstMs * 2 ** Math.min(failures, 60));

/** Adds jitter: half of the delay is random, so that many callers do not come back at the same moment. */
export const jittered = (delayMs: number, random: Pick<Random, 'fraction'>): number =>
  delayMs * (0.5 + random.fraction() / 2);

/** Waits for work under way. All its waits together last no longer than a fixed time. */
export class WaitBudget {
  readonly #clock: Timers;
  readonly #ms: number;
  readonly #over = Promise.withResolvers<void>();
  #cancel: (() => void) | null = null;

  constructor(clock: Timers, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  /** Resolves when all work has settled or the budget is used up. The first call starts the time. */
  async for(work: readonly Promise<unknown>[]): Promise<void> {
    if (work.length === 0) return;
    this.#cancel ??= this.#clock.after(this.#ms, this.#over.resolve);
    await Promise.race([Promise.allSettled(work), this.#over.promise]);
  }

  /** Cancels the timer. */
  end(): void {
    this.#cancel?.();
  }
}
