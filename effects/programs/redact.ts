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
