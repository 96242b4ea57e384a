import { SvcError } from '../runtime/errors.ts';

/** Why a stream was told to stop. */
export type StopReason = 'client_gone' | 'too_slow' | 'server_closing';

/** One open stream: its signal is aborted with a `StopReason`. */
export interface OpenStream extends Disposable {
  readonly signal: AbortSignal;
  stop(reason: StopReason): void;
}

/** All event streams of the server: counted, bounded, and ended together when it closes. */
export class OpenStreams {
  readonly #open = new Set<AbortController>();
  readonly #most: number;
  #closing = false;

  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Throws `unavailable` when there are too many, or the server is closing. */
  open(): OpenStream {
    if (this.#closing) throw new SvcError('unavailable', 'The server is closing.');
    if (this.#open.size >= this.#most) {
      throw new SvcError('unavailable', 'This node serves as many event streams as it may.', { retryAfterMs: 5_000 });
    }
    const controller = new AbortController();
    this.#open.add(controller);
    return {
      signal: controller.signal,
      stop: (reason) => controller.abort(reason),
      [Symbol.dispose]: () => {
        this.#open.delete(controller);
      },
    };
  }

  endAll(): void {
    this.#closing = true;
    for (const controller of this.#open) controller.abort('server_closing' satisfies StopReason);
  }
}
