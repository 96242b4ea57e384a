import type { OneAtATime } from '../../runtime/one-at-a-time.ts';

/**
 * The same work for all who ask for it: whoever asks gets a run that begins after the question, and shares it with
 * everybody else who waits for one.
 */
export class SharedRuns {
  readonly #queue: OneAtATime;
  readonly #work: () => Promise<void>;
  #waiting: Promise<void> | null = null;

  constructor(queue: OneAtATime, work: () => Promise<void>) {
    this.#queue = queue;
    this.#work = work;
  }

  run(): Promise<void> {
    this.#waiting ??= this.#queue.run(() => {
      this.#waiting = null;
      return this.#work();
    });
    return this.#waiting;
  }
}
