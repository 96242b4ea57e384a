import { parseTemplate } from './parse.ts';
import type { Template } from './tree.ts';

/** Keeps the most recently used results of `make` by text, bounded by number and by characters of text. */
export class RecentByText<T> {
  readonly #make: (text: string) => T;
  readonly #maxEntries: number;
  readonly #maxChars: number;
  readonly #entries = new Map<string, T>();
  #chars = 0;

  constructor(make: (text: string) => T, maxEntries: number, maxChars: number) {
    this.#make = make;
    this.#maxEntries = maxEntries;
    this.#maxChars = maxChars;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(text: string): T {
    const kept = this.#entries.get(text);
    if (kept !== undefined) {
      this.#entries.delete(text);
      this.#entries.set(text, kept);
      return kept;
    }
    const made = this.#make(text);
    this.#entries.set(text, made);
    this.#chars += text.length;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries && this.#chars <= this.#maxChars) break;
      this.#entries.delete(oldest);
      this.#chars -= oldest.length;
    }
    return made;
  }
}

const recent = new RecentByText(parseTemplate, 2_000, 4 * 1_024 * 1_024);

/** The tree of a template, parsed once. Throws TemplateError `invalid`. */
export function templateOf(text: string): Template {
  return recent.get(text);
}
