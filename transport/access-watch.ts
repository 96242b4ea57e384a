import { type SvcError, toSvcError } from '../runtime/errors.ts';
import type { OpenStream } from './open-streams.ts';

/** Checks in a row that may fail without a refusal, for example because a store is unavailable. */
const MOST_UNCHECKED = 10;

/** Codes of a check that refuses the caller. Every other error says nothing about the caller. */
const REFUSALS: ReadonlySet<string> = new Set(['unauthenticated', 'forbidden', 'invalid_argument']);

interface WatchOptions {
  readonly recheckMs: number;
  /** Repeats the admission of the call, or throws. */
  readonly admit: () => Promise<unknown>;
}

/**
 * Stops an open stream when the key or token that opened it is revoked or has expired: admits the call again at an
 * interval. When the check itself fails the stream goes on, and is stopped as `unchecked` after ten failures in a row.
 */
export class AccessWatch implements Disposable {
  readonly #stream: OpenStream;
  readonly #options: WatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #unchecked = 0;
  #refusal: SvcError | null = null;

  constructor(stream: OpenStream, options: WatchOptions) {
    this.#stream = stream;
    this.#options = options;
    this.#wait();
  }

  /** Why the caller has no access any more; null while it has. */
  get refusal(): SvcError | null {
    return this.#refusal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    this.#timer = setTimeout(() => void this.#check(), this.#options.recheckMs).unref();
  }

  async #check(): Promise<void> {
    try {
      await this.#options.admit();
      this.#unchecked = 0;
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (REFUSALS.has(error.code)) {
        this.#refusal = error;
        return this.#stream.stop('access_ended');
      }
      this.#unchecked += 1;
      if (this.#unchecked >= MOST_UNCHECKED) return this.#stream.stop('unchecked');
    }
    // Disposed while the check ran: the stream has ended.
    if (this.#timer !== undefined) this.#wait();
  }
}
