import type { ServerWritableStream } from '@grpc/grpc-js';
import type { OpenStream } from '../open-streams.ts';

/**
 * Writes messages to a client no faster than it reads: beyond `unreadBytes` the next one waits. A client that leaves
 * them unread for `drainTimeoutMs` stops the stream as `too_slow`.
 */
export class EventWriter {
  readonly #call: ServerWritableStream<Buffer, Buffer>;
  readonly #stream: OpenStream;
  readonly #limits: { readonly unreadBytes: number; readonly drainTimeoutMs: number };
  #unreadBytes = 0;
  #wake = (): void => {};

  constructor(
    call: ServerWritableStream<Buffer, Buffer>,
    stream: OpenStream,
    limits: { readonly unreadBytes: number; readonly drainTimeoutMs: number },
  ) {
    this.#call = call;
    this.#stream = stream;
    this.#limits = limits;
  }

  /** Resolves when there is room for the next message, or the stream was stopped. */
  async write(message: Buffer): Promise<void> {
    const { signal } = this.#stream;
    if (signal.aborted) return;
    this.#unreadBytes += message.length;
    this.#call.write(message, () => {
      this.#unreadBytes -= message.length;
      this.#wake();
    });
    if (this.#unreadBytes > this.#limits.unreadBytes) await this.#room();
  }

  async #room(): Promise<void> {
    const { signal } = this.#stream;
    const slow = setTimeout(() => this.#stream.stop('too_slow'), this.#limits.drainTimeoutMs);
    const onAbort = (): void => this.#wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (this.#unreadBytes > this.#limits.unreadBytes && !signal.aborted) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        slow.refresh();
      }
    } finally {
      clearTimeout(slow);
      signal.removeEventListener('abort', onAbort);
    }
  }
}
