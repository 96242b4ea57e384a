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
