import type { SearchEntry } from './entry.ts';
import { FIELDS, type Field, Postings } from './postings.ts';
import type { Wordbook, Wording } from './question.ts';
import { Vocabulary } from './vocabulary.ts';
import { stemOf, tellingWordsOf } from './words.ts';

/** How much a word says about an entry where it stands. */
const STRENGTH: Readonly<Record<Field, number>> = { name: 1, labels: 0.9, description: 0.85, instruction: 0.5 };
/** By the bits of the fields it stands in: the best of them. */
const STRENGTHS = Float32Array.from({ length: 16 }, (_, mask) =>
  Math.max(0, ...keysOf(FIELDS).map((field) => ((mask & FIELDS[field]) === 0 ? 0 : STRENGTH[field]))),
);
/** Part of the score that only an entry gets whose whole name was asked for. */
const NAME_SHARE = 0.06;
/** An entry that answers a third of a question answers another one: above 1, so that parts count less than they are. */
const CURVE = 1.25;

function keysOf(fields: typeof FIELDS): Field[] {
  return ['name', 'description', 'labels', 'instruction'].filter((key): key is Field => Object.hasOwn(fields, key));
}

export interface Asked {
  readonly wordings: readonly Wording[];
  readonly weight: number;
}

/** Entries and their words. What is put twice replaces itself. */
export class LexicalIndex implements Wordbook {
  readonly #postings = new Postings();
  readonly #vocabulary = new Vocabulary();
  readonly #slots = new Map<string, number>();
  readonly #entries: (SearchEntry | undefined)[] = [];
  /** Words of the name, by slot. */
  #nameWords = new Uint8Array(16);

  get size(): number {
    return this.#slots.size;
  }

  /** One more than the highest slot. */
  get slots(): number {
    return this.#postings.slots;
  }

  put(entry: SearchEntry, instruction: string): number {
    this.remove(entry.id);
    const stems = new Map<string, number>();
    const nameWords = tellingWordsOf(entry.name);
    note(stems, nameWords, 'name');
    note(stems, joinedPairs(nameWords), 'name');
    note(stems, tellingWordsOf(entry.description), 'description');
    note(stems, tellingWordsOf(labelText(entry.labels)), 'labels');
    note(stems, tellingWordsOf(instruction), 'instruction');
    const slot = this.#postings.add(stems, (stem) => this.#vocabulary.add(stem));
    this.#slots.set(entry.id, slot);
    this.#entries[slot] = entry;
    if (slot >= this.#nameWords.length) this.#nameWords = grown(this.#nameWords, slot + 1);
    this.#nameWords[slot] = Math.min(255, nameWords.length);
    return slot;
  }

  remove(id: string): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    this.#slots.delete(id);
    this.#entries[slot] = undefined;
    this.#postings.remove(slot);
  }

  slotOf(id: string): number | undefined {
    return this.#slots.get(id);
  }

  /** Undefined for a slot that nothing is in. */
  at(slot: number): SearchEntry | undefined {
    return this.#entries[slot];
  }

  ids(): IterableIterator<string> {
    return this.#slots.keys();
  }

  frequency(stem: string): number {
    return this.#postings.frequency(stem);
  }

  like(stem: string): readonly { readonly word: string; readonly likeness: number }[] {
    return this.#vocabulary.like(stem);
  }

  /**
   * Scores by slot, 0 to 1: the part of what is asked that the entry answers. 1 is an entry that bears exactly the words
   * of the query as its name.
   */
  scores(asked: readonly Asked[]): Float32Array {
    const sums = new Float32Array(this.slots);
    const named = new Uint8Array(this.slots);
    let total = 0;
    for (const { wordings, weight } of asked) {
      total += weight;
      this.#answer(wordings, weight, sums, named);
    }
    for (let slot = 0; slot < sums.length; slot += 1) {
      const sum = sums[slot] ?? 0;
      if (sum === 0) continue;
      const share = Math.min(1, (named[slot] ?? 0) / Math.max(1, this.#nameWords[slot] ?? 1));
      sums[slot] = (sum / total) ** CURVE * (1 - NAME_SHARE + NAME_SHARE * share);
    }
    return sums;
  }

  /** Adds for each entry the best answer that it gives by one of the wordings. */
  #answer(wordings: readonly Wording[], weight: number, sums: Float32Array, named: Uint8Array): void {
    const best = new Float32Array(wordings.length > 1 ? sums.length : 0);
    const isFirst = new Set<number>();
    for (const { stem, likeness } of wordings) {
      this.#postings.each(stem, (slot, mask) => {
        const answer = likeness * (STRENGTHS[mask] ?? 0);
        const had = best[slot] ?? 0;
        if (answer > had) {
          sums[slot] = (sums[slot] ?? 0) + weight * (answer - had);
          if (best.length > 0) best[slot] = answer;
        }
        if ((mask & FIELDS.name) === 0 || (wordings.length > 1 && isFirst.has(slot))) return;
        if (wordings.length > 1) isFirst.add(slot);
        named[slot] = Math.min(255, (named[slot] ?? 0) + 1);
      });
    }
  }
}

function note(stems: Map<string, number>, words: readonly string[], field: Field): void {
  for (const word of words) {
    const stem = stemOf(word);
    stems.set(stem, (stems.get(stem) ?? 0) | FIELDS[field]);
  }
}

/** `code-review-bot` is also found as `codereview`. */
const joinedPairs = (words: readonly string[]): string[] =>
  words.slice(1).map((word, at) => `${words[at] ?? ''}${word}`);

/** `svc.dev/team: docs` says team and docs. */
const labelText = (labels: SearchEntry['labels']): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key.slice(key.lastIndexOf('/') + 1)} ${value}`)
    .join(' ');

function grown(words: Uint8Array<ArrayBuffer>, atLeast: number): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(Math.max(atLeast, words.length * 2));
  more.set(words);
  return more;
}
