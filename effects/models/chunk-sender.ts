import type { Clock } from '../../runtime/clock.ts';

/** Minimum time between two chunks. */
const INTERVAL_MS = 50;
/** Text of this length is sent at once. */
const FULL_CHARS = 4_096;
/** Largest chunk: at three bytes per character below the size that goes to Blobs (64 KiB, K7). */
const MAX_CHUNK_CHARS = 16_384;
/** With more unsent text `push` waits, so that the store slows the model down. */
const MAX_PENDING_CHARS = 65_536;

/**
 * Batches the tokens of a model into few chunks. Sends the first text at once, later text every 50 ms or when enough has
 * come. The chunks contain exactly the pushed text, in order.
 */
export class ChunkSender {
  readonly #send: (text: string) => Promise<boolean>;
  readonly #clock: Clock;
  #pending = '';
  #sending: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #lastSentAt = Number.NEGATIVE_INFINITY;
  #failure: { readonly error: unknown } | undefined;
  /** At least one chunk was sent. */
  sent = false;
  /** The receiver wants no more. */
  unwanted = false;

  constructor(send: (text: string) => Promise<boolean>, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Adds text; waits only if the receiver is far behind. Throws the error of a failed send. */
  async push(text: string): Promise<void> {
    this.#rethrow();
    this.#pending += text;
    this.#schedule();
    if (this.#pending.length > MAX_PENDING_CHARS) await this.#settle();
  }

  /** Sends the rest; resolves when all is durable. Throws the error of a failed send. */
  async finish(): Promise<void> {
    await this.#settle();
    if (this.#pending !== '' && !this.unwanted) {
      // The rest is half a surrogate pair, which the model really sent.
      await this.#deliver(this.#take(true));
      this.#rethrow();
    }
  }

  /** Stops sending; resolves when the chunk under way has arrived or failed. */
  async stop(): Promise<void> {
    this.#cancelTimer?.();
    this.#pending = '';
    this.unwanted = true;
    await this.#sending;
  }

  #schedule(): void {
    if (this.#sending !== undefined || this.#pending === '' || this.unwanted) return;
    const waitMs = this.#pending.length >= FULL_CHARS ? 0 : this.#lastSentAt + INTERVAL_MS - this.#clock.monotonic();
    if (waitMs <= 0) this.#start();
    else this.#cancelTimer ??= this.#clock.after(waitMs, () => this.#start());
  }

  #start(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#sending !== undefined || this.unwanted) return;
    const chunk = this.#take(false);
    if (chunk === '') return;
    this.#sending = this.#deliver(chunk).then(() => {
      this.#sending = undefined;
      this.#schedule();
    });
  }

  async #settle(): Promise<void> {
    for (;;) {
      this.#rethrow();
      if (this.unwanted) return;
      if (this.#sending === undefined) this.#start();
      if (this.#sending === undefined) return;
      await this.#sending;
    }
  }

  /** Never rejects: the next call throws the error. */
  async #deliver(chunk: string): Promise<void> {
    this.sent = true;
    this.#lastSentAt = this.#clock.monotonic();
    try {
      if (!(await this.#send(chunk))) this.unwanted = true;
    } catch (error) {
      this.#failure = { error };
      this.unwanted = true;
    }
  }

  /** Takes the next chunk. Never splits a surrogate pair, since half of one cannot be encoded in UTF-8. */
  #take(last: boolean): string {
    let end = Math.min(this.#pending.length, MAX_CHUNK_CHARS);
    if (!last && end > 0 && isHighSurrogate(this.#pending.charCodeAt(end - 1))) end -= 1;
    const chunk = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end);
    return chunk;
  }

  #rethrow(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
