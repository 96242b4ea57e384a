/**
 * What one batch decided, as JSON. The digest of a turn and the commit need the same texts, and each is made once. What it
 * is asked for must not change any more.
 */
export class JsonTexts {
  readonly #texts = new Map<object, string>();

  of(value: unknown): string {
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    let text = this.#texts.get(value);
    if (text === undefined) {
      text = JSON.stringify(value);
      this.#texts.set(value, text);
    }
    return text;
  }
}
