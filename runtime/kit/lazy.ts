/**
 * A value that is created on first use. Concurrent callers share one creation. When it fails, each of them gets the
 * error and the next caller tries again.
 */
export class Lazy<Value> {
  readonly #make: () => Promise<Value>;
  #making: Promise<Value> | null = null;

  constructor(make: () => Promise<Value>) {
    this.#make = make;
  }

  get(): Promise<Value> {
    this.#making ??= this.#begin().catch((error: unknown) => {
      this.#making = null;
      throw error;
    });
    return this.#making;
  }

  /** Returns the value so that its owner can close it, or null. It waits for a creation under way and starts none. */
  async made(): Promise<Value | null> {
    try {
      return await this.#making;
    } catch {
      // The callers of `get` received the error.
      return null;
    }
  }

  /** Turns an error that `make` throws synchronously into a rejection. */
  async #begin(): Promise<Value> {
    return this.#make();
  }
}

/** Shares one run between concurrent calls with the same key. A call after its end starts another run. */
export class SingleFlight<Key, Value> {
  readonly #running = new Map<Key, Promise<Value>>();

  run(key: Key, work: () => Promise<Value>): Promise<Value> {
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = work().finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }
}
