import type { Clock } from '../../runtime/clock.ts';

/** At most one message per this time while text keeps coming. */
const INTERVAL_MS = 50;
/** So much text goes out at once, whatever the time. */
const FULL_CHARS = 4_096;
/** Largest chunk; three bytes a character keep it under the size that is stored aside (64 KiB, K7). */
const MAX_CHUNK_CHARS = 16_384;
/** With more than this unsent, `push` waits: the store slows the model down, not the other way round. */
const MAX_PENDING_CHARS = 65_536;

/**
 * Puts the tokens of a fast model together into few chunks. The first text goes out at once, later text every 50 ms
 * or when enough has come. The chunks, joined, are exactly the text pushed. Nothing is sent twice or out of order.
 */
export class ChunkSender {
  readonly #send: (text: string) => Promise<boolean>;
  readonly #clock: Clock;
  #pending = '';
  #sending: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #lastSentAt = Number.NEGATIVE_INFINITY;
  #failure: { readonly error: unknown } | undefined;
  /** At least one chunk was handed over. */
  sent = false;
  /** The receiver said that it wants no more. */
  unwanted = false;

  constructor(send: (text: string) => Promise<boolean>, clock: Clock) {
    this.#send = send;
    this.#clock = clock;
  }

  /** Takes text over; waits only when the receiver is far behind. Throws what sending threw. */
  async push(text: string): Promise<void> {
    this.#rethrow();
    this.#pending += text;
    this.#schedule();
    if (this.#pending.length > MAX_PENDING_CHARS) await this.#settle();
  }

  /** Sends what is left; resolves when everything is durable. Throws what sending threw. */
  async finish(): Promise<void> {
    await this.#settle();
    if (this.#pending !== '' && !this.unwanted) {
      // What is left now is half a surrogate pair: the model really said that.
      await this.#deliver(this.#take(true));
      this.#rethrow();
    }
  }

  /** Sends no more; resolves when the chunk under way has arrived or failed. */
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

  /** Never rejects: a failed delivery is kept and thrown at the next call. */
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

  /** Cuts the next chunk off; a surrogate pair is never torn, for half of one does not survive UTF-8. */
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
