import type { SearchEntry } from './entry.ts';
import { cosine, type EntryVectors, type Vector } from './entry-vectors.ts';
import type { LexicalIndex, Wordbook, Wording } from './lexical-index.ts';
import { isTelling, stemOf, synonymsOf, wordsOf } from './words.ts';

/** An index of a search. All scores are on one scale. */
export interface SearchedIndex {
  readonly words: LexicalIndex;
  readonly vectors: EntryVectors | null;
}

/** How the similarity of vectors counts; null without a model, or while it does not answer. */
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

/** Scores are rounded to four decimal places. */
const SCALE = 10_000;

/**
 * The best entries of all indexes with at least `minScore`, best first; equal scores are sorted by name. `accept` filters the
 * entries.
 */
export function rank(
  indexes: readonly SearchedIndex[],
  query: string,
  meaning: Meaning | null,
  bounds: { readonly minScore: number; readonly limit: number; readonly accept: (entry: SearchEntry) => boolean },
): Ranked[] {
  const books = indexes.map(({ words }) => words);
  const entries = books.reduce((sum, { size }) => sum + size, 0);
  const asked = conceptsOf(query).map((concept) => {
    const wordings = wordingsOf(concept, books);
    return { wordings, weight: weightOf(wordings, books, entries) };
  });
  const best = new Best(bounds.limit);
  for (const { words, vectors } of indexes) {
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

/** The best `limit` entries of many. */
class Best {
  readonly list: Ranked[] = [];
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Minimum score to be taken, minus the largest rounding difference. */
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

/** Maximum number of words of a query; further words are ignored. */
const MAX_CONCEPTS = 32;

/** Confidence that another word in an entry has the meaning of the query's word. */
const SIMILARITY = { same: 1, joined: 0.95, synonyms: 0.9, misspelt: 0.85 } as const;

/** Weight of a word that all entries contain. All weights are below `MOST_WEIGHT`, however large the catalog is. */
const LEAST_WEIGHT = 1;

const MOST_WEIGHT = 4;

/** Logarithm of the rarity at which a word gets the average of the minimum and maximum weights. */
const MIDDLE = 3;

/** One word of a query. */
interface Concept {
  readonly stem: string;
  /** The word joined with the word before or after it: `codereview`. */
  readonly joined: readonly string[];
  readonly synonyms: readonly string[];
}

/** The concepts of a query, without duplicates. */
function conceptsOf(query: string): Concept[] {
  const words = wordsOf(query);
  const hasTelling = words.some(isTelling);
  const concepts = new Map<string, Concept>();
  for (const [at, word] of words.entries()) {
    if (hasTelling && !isTelling(word)) continue;
    const stem = stemOf(word);
    const before = words[at - 1];
    const after = words[at + 1];
    const joined = [
      ...(before === undefined ? [] : [stemOf(before + word)]),
      ...(after === undefined ? [] : [stemOf(word + after)]),
      ...(concepts.get(stem)?.joined ?? []),
    ];
    concepts.set(stem, { stem, joined, synonyms: synonymsOf(stem) });
    if (concepts.size === MAX_CONCEPTS) break;
  }
  return [...concepts.values()];
}

/** The words in any of the indexes that match the concept; misspellings only when no other word does. */
function wordingsOf(concept: Concept, books: readonly Wordbook[]): Wording[] {
  const known = (stem: string): boolean => books.some((book) => book.frequency(stem) > 0);
  const wordings: Wording[] = [
    { stem: concept.stem, similarity: SIMILARITY.same },
    ...concept.joined.map((stem) => ({ stem, similarity: SIMILARITY.joined })),
    ...concept.synonyms.map((stem) => ({ stem, similarity: SIMILARITY.synonyms })),
  ].filter(({ stem }) => known(stem));
  if (wordings.length > 0) return wordings;
  const near = books.flatMap((book) => book.like(concept.stem));
  return near.map(({ word, similarity }) => ({ stem: word, similarity: similarity * SIMILARITY.misspelt }));
}

/**
 * Weight of a concept: the fewer entries match, the higher. It depends on their share of all entries and is bounded, so that a
 * score stays the same as the catalog grows.
 */
function weightOf(wordings: readonly Wording[], books: readonly Wordbook[], entries: number): number {
  let frequency = 0;
  for (const book of books) frequency += Math.max(0, ...wordings.map(({ stem }) => book.frequency(stem)));
  const rarity = Math.max(0, Math.log((entries + 1) / (frequency + 1)));
  return LEAST_WEIGHT + ((MOST_WEIGHT - LEAST_WEIGHT) * rarity) / (rarity + MIDDLE);
}
