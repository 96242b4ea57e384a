/** Work that runs one at a time; all who ask for it while it runs are served by one more run. */
export class Coalesced {
  readonly #work: () => Promise<void>;
  #last: Promise<void> = Promise.resolve();
  #again = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Who asked first hears of a failure, the others only of the end. */
  run(): Promise<void> {
    if (this.#again) return this.#last;
    this.#again = true;
    const run = this.#last.then(() => {
      this.#again = false;
      return this.#work();
    });
    this.#last = run.catch(() => undefined);
    return run;
  }

  /** Resolves when what was asked for so far has run, also when it failed. */
  get idle(): Promise<void> {
    return this.#last;
  }
}
