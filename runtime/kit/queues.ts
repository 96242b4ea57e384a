/** Runs one piece of work after another, in the order of the calls. A failure does not stop the work behind it. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}

/** Runs the work of one key in the order of the calls; different keys do not wait for each other. */
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

  /** Number of keys with work that has not ended. */
  get busy(): number {
    return this.#last.size;
  }
}

/**
 * Merges concurrent calls of one job. Runs never overlap. A run serves every call made before it began; a call made
 * while it is under way gets the next run. All calls of a run share its outcome.
 */
export class SharedRuns<Result = void> {
  readonly #work: () => Promise<Result>;
  readonly #queue: OneAtATime;
  #next: Promise<Result> | null = null;
  #last: Promise<void> = Promise.resolve();

  /** Pass `queue` for a job that must not overlap with other work. */
  constructor(work: () => Promise<Result>, queue = new OneAtATime()) {
    this.#work = work;
    this.#queue = queue;
  }

  run(): Promise<Result> {
    if (this.#next !== null) return this.#next;
    const next = this.#queue.run(() => {
      this.#next = null;
      return this.#work();
    });
    this.#next = next;
    this.#last = next.then(
      () => {},
      () => {},
    );
    return next;
  }

  /** Whether a run is planned that has not begun. */
  get isPlanned(): boolean {
    return this.#next !== null;
  }

  /** Resolves when all runs planned so far have ended, also when they failed. */
  get idle(): Promise<void> {
    return this.#last;
  }
}

/** Waits until all work has ended, then throws the first failure: no work continues in the background. */
export async function allDone(work: Iterable<Promise<unknown>>): Promise<void> {
  for (const done of await Promise.allSettled(work)) if (done.status === 'rejected') throw done.reason;
}
