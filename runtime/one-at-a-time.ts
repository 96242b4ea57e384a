/** Runs one piece of work after another; each begins when all before it have ended, however they ended. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    // Whoever asked hears of a failure; the next is not held up by it.
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}

/** One at a time for each key, in the order they came; different keys do not wait for each other. */
export class OneAtATimePerKey {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(key, mine);
    const forget = (): void => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    mine.then(forget, forget);
    return mine;
  }

  /** Keys with work that has not ended. */
  get busy(): number {
    return this.#last.size;
  }
}
