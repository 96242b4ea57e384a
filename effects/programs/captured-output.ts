import { StringDecoder } from 'node:string_decoder';

/** One stream of a program as text: the first `limitBytes`, without secrets, UTF-8 decoded across chunks. */
export class CapturedOutput {
  readonly #decoder = new StringDecoder('utf8');
  readonly #redactor: Redactor;
  readonly #take: (text: string) => void;
  readonly #parts: string[] = [];
  #leftBytes: number;
  #truncated = false;

  /** `take` gets each kept piece. */
  constructor(limitBytes: number, secrets: readonly string[], take: (text: string) => void = () => {}) {
    this.#leftBytes = limitBytes;
    this.#redactor = new Redactor(secrets);
    this.#take = take;
  }

  get text(): string {
    return this.#parts.join('');
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Discards output beyond the limit, so that the program does not block. */
  push(chunk: Buffer): void {
    if (!this.#truncated) this.#keep(this.#redactor.push(this.#decoder.write(chunk)));
  }

  end(): void {
    if (this.#truncated) return;
    this.#keep(this.#redactor.push(this.#decoder.end()));
    this.#keep(this.#redactor.end());
  }

  #keep(text: string): void {
    if (text === '' || this.#truncated) return;
    const bytes = Buffer.byteLength(text);
    this.#truncated = bytes > this.#leftBytes;
    // The decoder drops a character cut in half.
    const kept = this.#truncated
      ? new StringDecoder('utf8').write(Buffer.from(text).subarray(0, this.#leftBytes))
      : text;
    this.#leftBytes -= Math.min(bytes, this.#leftBytes);
    if (kept === '') return;
    this.#parts.push(kept);
    this.#take(kept);
  }
}

const REDACTED = '[redacted]';

/** Shorter values are words such as `on`; replacing them would destroy the text. */
const SHORTEST_CHARS = 4;

/** Removes known secrets from a text that arrives in pieces, also across pieces. */
export class Redactor {
  readonly #secrets: readonly string[];
  #held = '';

  constructor(secrets: readonly string[]) {
    // Longest first, since a secret may contain another one.
    this.#secrets = secrets.filter((one) => one.length >= SHORTEST_CHARS).sort((a, b) => b.length - a.length);
  }

  /** Returns the redacted text; holds back an end that may be the start of a secret. */
  push(text: string): string {
    if (this.#secrets.length === 0) return text;
    const all = this.#clean(this.#held + text);
    const held = this.#mayBeStart(all);
    this.#held = all.slice(all.length - held);
    return all.slice(0, all.length - held);
  }

  end(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }

  #clean(text: string): string {
    return this.#secrets.reduce((clean, secret) => clean.replaceAll(secret, REDACTED), text);
  }

  #mayBeStart(text: string): number {
    let most = 0;
    for (const secret of this.#secrets) {
      for (let length = Math.min(secret.length - 1, text.length); length > most; length -= 1) {
        if (text.endsWith(secret.slice(0, length))) most = length;
      }
    }
    return most;
  }
}

const SEND_EVERY_MS = 50;

/** Sends text in order, at most one message each `SEND_EVERY_MS`. */
export class ProgressFlow {
  readonly #send: (text: string) => Promise<boolean>;
  readonly #unwanted: () => void;
  #pending = '';
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> = Promise.resolve();
  #stopped = false;

  /** Calls `unwanted` when `send` returns false: the receiver wants no more. */
  constructor(send: (text: string) => Promise<boolean>, unwanted: () => void) {
    this.#send = send;
    this.#unwanted = unwanted;
  }

  push(text: string): void {
    if (this.#stopped) return;
    this.#pending += text;
    this.#timer ??= setTimeout(() => this.#flush(), SEND_EVERY_MS);
  }

  /** Sends the rest; resolves when all is durable. Rejects with the first error. */
  async finish(): Promise<void> {
    this.#flush();
    await this.#sending;
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const previous = this.#sending;
    this.#sending = previous.then(() => this.#sendPending());
    // `finish` rejects with the error; until then it must not be an unhandled rejection.
    this.#sending.catch(() => {});
  }

  /** With a slow store the messages get larger, not more. */
  async #sendPending(): Promise<void> {
    if (this.#pending === '' || this.#stopped) return;
    const text = this.#pending;
    this.#pending = '';
    if (await this.#send(text)) return;
    this.#stopped = true;
    this.#unwanted();
  }
}
