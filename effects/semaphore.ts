interface Slots {
  used: number;
  readonly waiting: (() => void)[];
}

/** Limits the concurrent work of each key in this process; further work waits in order. */
export class KeyedSemaphore {
  readonly #slots = new Map<string, Slots>();

  /** Waits for a slot and returns the function that releases it. Throws the signal's reason. */
  async acquire(key: string, most: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const slots = this.#slots.get(key) ?? { used: 0, waiting: [] };
    this.#slots.set(key, slots);
    if (slots.used < most) slots.used += 1;
    else await nextFree(slots, signal);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#release(key, slots);
    };
  }

  /** Number of callers that wait for a slot of the key. */
  waiting(key: string): number {
    return this.#slots.get(key)?.waiting.length ?? 0;
  }

  /** Hands the slot to the first waiting caller, so that no other one can take it in between. */
  #release(key: string, slots: Slots): void {
    const next = slots.waiting.shift();
    if (next !== undefined) next();
    else {
      slots.used -= 1;
      if (slots.used === 0) this.#slots.delete(key);
    }
  }
}

function nextFree(slots: Slots, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const take = (): void => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = (): void => {
      slots.waiting.splice(slots.waiting.indexOf(take), 1);
      reject(signal.reason);
    };
    slots.waiting.push(take);
    signal.addEventListener('abort', leave, { once: true });
  });
}
