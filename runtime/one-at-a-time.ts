import { z } from 'zod';
import { type Address, parseAddress } from './address.ts';
import type { Clock } from './clock.ts';
import { jsonField } from './json.ts';

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

/** Throws the first failure, but not before all have ended: nothing of a run goes on beside the next one. */
export async function allDone(work: Iterable<Promise<unknown>>): Promise<void> {
  for (const done of await Promise.allSettled(work)) if (done.status === 'rejected') throw done.reason;
}

/** Who wants to hear that an actor has ended, as which message, and what to send back unchanged. */
export const Notify = z.object({
  to: z.custom<Address>((value) => {
    if (typeof value !== 'string') return false;
    try {
      parseAddress(value);
      return true;
    } catch {
      return false;
    }
  }, 'expected an address kind/tenant/id'),
  /** Message type of the one that is told. */
  as: z.string().min(1).max(100),
  context: jsonField,
});

export type Notify = z.output<typeof Notify>;

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

/** Resolves after the delay, or at once when the signal is aborted, before or meanwhile. Never rejects. */
export function pause(clock: Pick<Clock, 'after'>, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/**
 * A value that is made when it is first asked for: what a node does not use it does not carry. All who ask share one
 * making. When it fails each of them gets its error, and the next to ask has it tried again.
 */
export class FirstUse<Value> {
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

  /** What was made, for whoever closes it: waits for a making under way, and begins none. Null when there is nothing. */
  async made(): Promise<Value | null> {
    try {
      return await this.#making;
    } catch {
      // Whoever asked for it was told.
      return null;
    }
  }

  /** A maker that throws at once fails like any other. */
  async #begin(): Promise<Value> {
    return this.#make();
  }
}
