/**
 * What is done with one log, one thing at a time: batches, removals and hand-overs never overlap. Batches may follow each other
 * for long; what is to be done between two of them does not wait for the last.
 */
export class LogOrder {
  #last: Promise<void> = Promise.resolve();
  #running = 0;
  #between: (() => Promise<void>)[] = [];

  /** Nothing runs and nothing waits to. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Runs work when all that was asked for before has ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    const mine = this.#last.then(work);
    const ended = (): void => {
      this.#running -= 1;
    };
    this.#last = mine.then(ended, ended);
    return mine;
  }

  /** Runs work before the next batch, by `runBetween`, or when nothing else runs. */
  between(work: () => Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#between.push(() => work().then(resolve, reject));
    this.run(() => this.runBetween()).catch(reject);
    return promise;
  }

  /** For who runs batches: what waits to be done between two of them. */
  async runBetween(): Promise<void> {
    for (const work of this.#between.splice(0)) await work();
  }
}
