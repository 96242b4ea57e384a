import { StringDecoder } from 'node:string_decoder';

/** One stream of a program as text: UTF-8 across chunk borders, without secrets, the first `limitBytes` of it. */
export class CapturedOutput {
  readonly #decoder = new StringDecoder('utf8');
  readonly #redactor: Redactor;
  readonly #take: (text: string) => void;
  readonly #parts: string[] = [];
  #leftBytes: number;
  #truncated = false;

  /** `take` is called with each piece that is kept. */
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

  /** What comes beyond the limit is read and thrown away, so that the program does not block. */
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
    // The decoder of a cut text keeps the half character at its end to itself.
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

/** Shorter values are words such as `on`: replacing them would destroy the text and hide nothing. */
const SHORTEST_CHARS = 4;

/** Takes known secrets out of a text that arrives in pieces, also where one is cut in two. */
export class Redactor {
  readonly #secrets: readonly string[];
  #held = '';

  constructor(secrets: readonly string[]) {
    // Longest first: a secret may hold another one.
    this.#secrets = secrets.filter((one) => one.length >= SHORTEST_CHARS).sort((a, b) => b.length - a.length);
  }

  /** Answers what can be let go; an end that may be the start of a secret is held back. */
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

/** Gathers pieces of text and sends them on in order, at most one message each `everyMs`. */
export class ProgressFlow {
  readonly #send: (text: string) => Promise<boolean>;
  readonly #unwanted: () => void;
  readonly #everyMs: number;
  #gathered = '';
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> = Promise.resolve();
  #stopped = false;

  /** `unwanted` is called when `send` answers false: nobody waits for the rest. */
  constructor(send: (text: string) => Promise<boolean>, unwanted: () => void, everyMs = 50) {
    this.#send = send;
    this.#unwanted = unwanted;
    this.#everyMs = everyMs;
  }

  push(text: string): void {
    if (this.#stopped) return;
    this.#gathered += text;
    this.#timer ??= setTimeout(() => this.#flush(), this.#everyMs);
  }

  /** Sends the rest; resolves when all is durable. Rejects with the first failure. */
  async finish(): Promise<void> {
    this.#flush();
    await this.#sending;
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const previous = this.#sending;
    this.#sending = previous.then(() => this.#sendGathered());
    // Told by `finish`; until then it is not an unhandled rejection.
    this.#sending.catch(() => {});
  }

  /** A slow store makes larger messages, not more of them. */
  async #sendGathered(): Promise<void> {
    if (this.#gathered === '' || this.#stopped) return;
    const text = this.#gathered;
    this.#gathered = '';
    if (await this.#send(text)) return;
    this.#stopped = true;
    this.#unwanted();
  }
}
