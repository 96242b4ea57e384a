import type { SearchEntry } from './entry.ts';
import type { EntryVectors } from './entry-vectors.ts';
import type { LexicalIndex } from './lexical-index.ts';
import { conceptsOf, weightOf, wordingsOf } from './question.ts';
import { cosine, type Vector } from './vector.ts';

/** What is searched together: scores of all of them are one scale. */
export interface Shelf {
  readonly words: LexicalIndex;
  readonly vectors: EntryVectors | null;
}

/** How the likeness of meanings counts; null without a model, or while it does not answer. */
export interface Meaning {
  readonly vector: Vector;
  readonly weight: number;
  readonly cosineFloor: number;
  readonly cosineCeiling: number;
}

export interface Ranked {
  readonly entry: SearchEntry;
  /** 0 to 1. */
  readonly score: number;
}

/** Scores have so many decimal places. */
const SCALE = 10_000;

/**
 * The best entries of all shelves with at least the score, best first; equal ones by name. `accept` says which may be
 * there at all.
 */
export function rank(
  shelves: readonly Shelf[],
  query: string,
  meaning: Meaning | null,
  bounds: { readonly minScore: number; readonly limit: number; readonly accept: (entry: SearchEntry) => boolean },
): Ranked[] {
  const books = shelves.map(({ words }) => words);
  const entries = books.reduce((sum, { size }) => sum + size, 0);
  const asked = conceptsOf(query).map((concept) => {
    const wordings = wordingsOf(concept, books);
    return { wordings, weight: weightOf(wordings, books, entries) };
  });
  const best = new Best(bounds.limit);
  for (const { words, vectors } of shelves) {
    const scores = words.scores(asked);
    for (let slot = 0; slot < scores.length; slot += 1) {
      const lexical = scores[slot] ?? 0;
      if (meaning === null && (lexical === 0 || lexical < best.least)) continue;
      const entry = words.at(slot);
      if (entry === undefined) continue;
      const score = Math.round(blended(lexical, meaning, vectors?.of(entry.id)) * SCALE) / SCALE;
      if (score > 0 && score >= bounds.minScore && best.takes(score, entry) && bounds.accept(entry))
        best.add({ entry, score });
    }
  }
  return best.list;
}

function blended(lexical: number, meaning: Meaning | null, vector: Vector | undefined): number {
  if (meaning === null || vector === undefined) return lexical;
  const { cosineFloor, cosineCeiling, weight } = meaning;
  const near = (cosine(meaning.vector, vector) - cosineFloor) / (cosineCeiling - cosineFloor);
  return weight * Math.min(1, Math.max(0, near)) + (1 - weight) * lexical;
}

/** The best few of many. */
class Best {
  readonly list: Ranked[] = [];
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Below it nothing is taken, less what rounding may add. */
  get least(): number {
    return this.list.length < this.#limit ? 0 : (this.list.at(-1)?.score ?? 0) - 1 / SCALE;
  }

  takes(score: number, entry: SearchEntry): boolean {
    const last = this.list.at(-1);
    return this.list.length < this.#limit || last === undefined || isBefore({ score, entry }, last);
  }

  add(ranked: Ranked): void {
    let low = 0;
    let high = this.list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const there = this.list[middle];
      if (there !== undefined && isBefore(there, ranked)) low = middle + 1;
      else high = middle;
    }
    this.list.splice(low, 0, ranked);
    if (this.list.length > this.#limit) this.list.pop();
  }
}

const isBefore = (a: Ranked, b: Ranked): boolean =>
  a.score !== b.score
    ? a.score > b.score
    : a.entry.name !== b.entry.name
      ? a.entry.name < b.entry.name
      : a.entry.id < b.entry.id;
