import type { SearchEntry } from './entry.ts';
import { stemOf, tellingWordsOf } from './words.ts';

export interface Wording {
  readonly stem: string;
  /** 0 to 1. */
  readonly similarity: number;
}

/** The word statistics of an index. */
export interface Wordbook {
  /** Number of entries with the stem. */
  frequency(stem: string): number;
  /** Stems with a similar spelling. */
  like(stem: string): readonly { readonly word: string; readonly similarity: number }[];
}

/** Weight of a word by the field that contains it. */
const STRENGTH: Readonly<Record<Field, number>> = { name: 1, labels: 0.9, description: 0.85, instruction: 0.5 };

/** Fields that contain a stem, as bits. */
const FIELDS = { name: 1, description: 2, labels: 4, instruction: 8 } as const;

/** Weight by the bits of the fields: the highest of them. */
const STRENGTHS = Float32Array.from({ length: 16 }, (_, mask) =>
  Math.max(0, ...keysOf(FIELDS).map((field) => ((mask & FIELDS[field]) === 0 ? 0 : STRENGTH[field]))),
);

/** Share of the score for entries whose whole name is in the query. */
const NAME_SHARE = 0.06;

/** Exponent above 1. It lowers the scores of partial matches: an entry that matches a third of a query is seldom meant. */
const CURVE = 1.25;

function keysOf(fields: typeof FIELDS): Field[] {
  return ['name', 'description', 'labels', 'instruction'].filter((key): key is Field => Object.hasOwn(fields, key));
}

interface Asked {
  readonly wordings: readonly Wording[];
  readonly weight: number;
}

/** Entries and their words. Adding an entry again replaces it. */
export class LexicalIndex implements Wordbook {
  readonly #postings = new Postings();
  readonly #vocabulary = new Vocabulary();
  readonly #slots = new Map<string, number>();
  readonly #entries: (SearchEntry | undefined)[] = [];
  /** Number of words in the name, by slot. */
  #nameWords = new Uint8Array(16);

  get size(): number {
    return this.#slots.size;
  }

  /** The highest slot plus one. */
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

  /** Undefined for an empty slot. */
  at(slot: number): SearchEntry | undefined {
    return this.#entries[slot];
  }

  ids(): IterableIterator<string> {
    return this.#slots.keys();
  }

  frequency(stem: string): number {
    return this.#postings.frequency(stem);
  }

  like(stem: string): readonly { readonly word: string; readonly similarity: number }[] {
    return this.#vocabulary.like(stem);
  }

  /**
   * Scores by slot, 0 to 1: the share of the query that an entry matches. An entry whose name consists of exactly the query's
   * words scores 1.
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

  /** Adds to each entry its best match among the wordings. */
  #answer(wordings: readonly Wording[], weight: number, sums: Float32Array, named: Uint8Array): void {
    const best = new Float32Array(wordings.length > 1 ? sums.length : 0);
    const isFirst = new Set<number>();
    for (const { stem, similarity } of wordings) {
      this.#postings.each(stem, (slot, mask) => {
        const answer = similarity * (STRENGTHS[mask] ?? 0);
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

/** Finds `code-review-bot` as `codereview` too. */
const joinedPairs = (words: readonly string[]): string[] =>
  words.slice(1).map((word, at) => `${words[at] ?? ''}${word}`);

/** `svc.dev/team: docs` contributes the words team and docs. */
const labelText = (labels: SearchEntry['labels']): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key.slice(key.lastIndexOf('/') + 1)} ${value}`)
    .join(' ');

function grown(words: Uint8Array<ArrayBuffer>, atLeast: number): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(Math.max(atLeast, words.length * 2));
  more.set(words);
  return more;
}

/** Minimum similarity of two spellings. */
const MIN_SIMILARITY = 0.55;

const MIN_CHARS = 4;

const MAX_FOUND = 5;

/** Words with fewer common trigrams are not compared further. */
const MIN_SHARED = 3;

const HAS_DIGIT = /\d/;

const CHARS_PER_TYPO = 4;

interface SimilarWord {
  readonly word: string;
  /**
   * 0 to 1: the highest of the trigram similarity (Dice's coefficient), the share of unchanged letters and the share of a
   * common beginning.
   */
  readonly similarity: number;
}

/**
 * All stems of an index by their character trigrams. It finds stems for words of a query that the index does not contain:
 * misspellings, compounds, beginnings. A stem stays after its last entry is removed, and then finds nothing.
 */
class Vocabulary {
  readonly #words: string[] = [];
  /** Indexes into the list of words. */
  readonly #byGram = new Map<string, number[]>();

  /** Each word must be added once only. Numbers are not added, since they have no misspellings. */
  add(word: string): void {
    if (word.length < MIN_CHARS || HAS_DIGIT.test(word)) return;
    const at = this.#words.push(word) - 1;
    for (const gram of gramsOf(word)) {
      const places = this.#byGram.get(gram);
      if (places === undefined) this.#byGram.set(gram, [at]);
      else places.push(at);
    }
  }

  /** The most similar words, best first. */
  like(word: string): SimilarWord[] {
    if (word.length < MIN_CHARS || HAS_DIGIT.test(word)) return [];
    const grams = gramsOf(word);
    const shared = new Uint8Array(this.#words.length);
    for (const gram of grams) {
      for (const at of this.#byGram.get(gram) ?? []) shared[at] = (shared[at] ?? 0) + 1;
    }
    const found: SimilarWord[] = [];
    for (let at = 0; at < shared.length; at += 1) {
      const count = shared[at] ?? 0;
      if (count < MIN_SHARED) continue;
      const other = this.#words[at] ?? '';
      const dice = (2 * count) / (grams.size + other.length + 1);
      const similarity = Math.max(dice, beginning(word, other), typo(word, other));
      if (similarity >= MIN_SIMILARITY) found.push({ word: other, similarity: Math.min(1, similarity) });
    }
    return found.sort((a, b) => b.similarity - a.similarity || (a.word < b.word ? -1 : 1)).slice(0, MAX_FOUND);
  }
}

/** Similarity of a beginning to its word, such as `kube` to `kubernet`: missing letters count half. */
const beginning = (word: string, other: string): number =>
  other.startsWith(word) ? 0.5 + (0.5 * word.length) / other.length : 0;

/** The first letter is seldom wrong. The marker before it makes it count twice. */
function gramsOf(word: string): Set<string> {
  const marked = `^^${word}$`;
  const grams = new Set<string>();
  for (let at = 0; at + 3 <= marked.length; at += 1) grams.add(marked.slice(at, at + 3));
  return grams;
}

/**
 * Similarity by edit distance; 0 when more than one letter in four must be changed, removed, inserted, or swapped with the
 * next.
 */
function typo(word: string, other: string): number {
  const length = Math.max(word.length, other.length);
  const most = Math.floor(length / CHARS_PER_TYPO);
  if (Math.abs(word.length - other.length) > most) return 0;
  const slips = editsBetween(word, other);
  return slips > most ? 0 : 1 - slips / length;
}

/** Optimal string alignment distance. */
function editsBetween(word: string, other: string): number {
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= word.length; row += 1) {
    const line = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const same = word[row - 1] === other[at - 1];
      let least = Math.min((above[at] ?? 0) + 1, (line[at - 1] ?? 0) + 1, (above[at - 1] ?? 0) + (same ? 0 : 1));
      const swapped = row > 1 && at > 1 && word[row - 1] === other[at - 2] && word[row - 2] === other[at - 1];
      if (swapped) least = Math.min(least, (before[at - 2] ?? 0) + 1);
      line.push(least);
    }
    before = above;
    above = line;
  }
  return above.at(-1) ?? 0;
}

type Field = keyof typeof FIELDS;

const MASK_BITS = 4;

const MASK = (1 << MASK_BITS) - 1;

/** Lists are rebuilt when more than this share of the slots is unused. */
const MAX_DEAD_SHARE = 0.25;

const MIN_DEAD = 1_000;

interface List {
  /** `slot << 4 | fields`. */
  cells: Uint32Array;
  length: number;
}

/**
 * Inverted index of the entries and fields that contain a stem, 4 bytes for each stem of an entry. Entries are slots: small
 * numbers that are reused when nothing refers to them.
 */
class Postings {
  readonly #lists = new Map<string, List>();
  readonly #dead = new Set<number>();
  readonly #free: number[] = [];
  #slots = 0;

  /** The highest slot plus one. */
  get slots(): number {
    return this.#slots;
  }

  get stems(): number {
    return this.#lists.size;
  }

  has(stem: string): boolean {
    return this.#lists.has(stem);
  }

  /** Number of entries with the stem; recently removed ones may still be counted. */
  frequency(stem: string): number {
    return this.#lists.get(stem)?.length ?? 0;
  }

  /** Returns the slot, and calls `onNew` with each new stem. */
  add(stems: ReadonlyMap<string, number>, onNew: (stem: string) => void): number {
    const slot = this.#free.pop() ?? this.#slots++;
    for (const [stem, mask] of stems) {
      let list = this.#lists.get(stem);
      if (list === undefined) {
        list = { cells: new Uint32Array(2), length: 0 };
        this.#lists.set(stem, list);
        onNew(stem);
      }
      if (list.length === list.cells.length) list.cells = grownList(list.cells);
      list.cells[list.length] = (slot << MASK_BITS) | mask;
      list.length += 1;
    }
    return slot;
  }

  remove(slot: number): void {
    this.#dead.add(slot);
    if (this.#dead.size > MIN_DEAD && this.#dead.size > this.#slots * MAX_DEAD_SHARE) this.#sweep();
  }

  /** Calls `call` for each entry with the stem, possibly including removed ones. */
  each(stem: string, call: (slot: number, mask: number) => void): void {
    const list = this.#lists.get(stem);
    if (list === undefined) return;
    for (let at = 0; at < list.length; at += 1) {
      const cell = list.cells[at] ?? 0;
      call(cell >>> MASK_BITS, cell & MASK);
    }
  }

  #sweep(): void {
    for (const list of this.#lists.values()) {
      let kept = 0;
      for (let at = 0; at < list.length; at += 1) {
        const cell = list.cells[at] ?? 0;
        if (this.#dead.has(cell >>> MASK_BITS)) continue;
        list.cells[kept] = cell;
        kept += 1;
      }
      list.length = kept;
    }
    this.#free.push(...this.#dead);
    this.#dead.clear();
  }
}

function grownList(cells: Uint32Array): Uint32Array {
  const more = new Uint32Array(cells.length * 2);
  more.set(cells);
  return more;
}
