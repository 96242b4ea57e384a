import type { Clock } from './clock.ts';

/** Waits for work that is under way, in all its calls together no longer than a fixed time. */
export class Patience {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #ms: number;
  readonly #over = Promise.withResolvers<void>();
  #cancel: (() => void) | null = null;

  constructor(clock: Pick<Clock, 'after'>, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  /** Resolves when all of it has settled, or when the time is over, which begins with the first call. */
  async for(work: readonly Promise<unknown>[]): Promise<void> {
    if (work.length === 0) return;
    this.#cancel ??= this.#clock.after(this.#ms, this.#over.resolve);
    await Promise.race([Promise.allSettled(work), this.#over.promise]);
  }

  /** Nothing is waited for any more. */
  end(): void {
    this.#cancel?.();
  }
}
