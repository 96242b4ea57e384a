import type { SearchEntry } from './entry.ts';
import { cosine, type EntryVectors, type Vector } from './entry-vectors.ts';
import type { LexicalIndex, Wordbook, Wording } from './lexical-index.ts';
import { isTelling, stemOf, synonymsOf, wordsOf } from './words.ts';

/** What is searched together: scores of all of them are one scale. */
export interface SearchedIndex {
  readonly words: LexicalIndex;
  readonly vectors: EntryVectors | null;
}

/** How the similarity of meanings counts; null without a model, or while it does not answer. */
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
 * The best entries of all indexes with at least the score, best first; equal ones by name. `accept` says which may be
 * there at all.
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

/** A query asks for at most so many different things; the rest is not read. */
const MAX_CONCEPTS = 32;

/** How sure an entry means what was asked when it holds another word. */
const SIMILARITY = { same: 1, joined: 0.95, synonyms: 0.9, misspelt: 0.85 } as const;

/** Of a word that every entry holds, and what no word reaches, however large the catalog is. */
const LEAST_WEIGHT = 1;

const MOST_WEIGHT = 4;

/** Logarithm of the rarity at which a word weighs what is in the middle between them. */
const MIDDLE = 3;

/** One word of a query. */
interface Concept {
  readonly stem: string;
  /** Written together with the word before or after it: `codereview`. */
  readonly joined: readonly string[];
  readonly synonyms: readonly string[];
}

/** The concepts of a query, each once. */
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

/** Words by which entries may answer the concept, in any of the books; those nearly like it only where nothing else is. */
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
 * What answering the concept is worth: more the fewer entries can. It depends on the share of the entries that can, and is
 * bounded, so that a score stays what it is as the catalog grows.
 */
function weightOf(wordings: readonly Wording[], books: readonly Wordbook[], entries: number): number {
  let frequency = 0;
  for (const book of books) frequency += Math.max(0, ...wordings.map(({ stem }) => book.frequency(stem)));
  const rarity = Math.max(0, Math.log((entries + 1) / (frequency + 1)));
  return LEAST_WEIGHT + ((MOST_WEIGHT - LEAST_WEIGHT) * rarity) / (rarity + MIDDLE);
}
