import { alikeTo, isTelling, stemOf, wordsOf } from './words.ts';

/** A query asks for at most so many different things; the rest is not read. */
const MAX_CONCEPTS = 32;

/** How sure an entry means what was asked when it holds another word. */
const LIKENESS = { same: 1, joined: 0.95, alike: 0.9, misspelt: 0.85 } as const;
/** Of a word that every entry holds, and what no word reaches, however large the catalog is. */
const LEAST_WEIGHT = 1;
const MOST_WEIGHT = 4;
/** Logarithm of the rarity at which a word weighs what is in the middle between them. */
const MIDDLE = 3;

/** One word of a query. */
export interface Concept {
  readonly stem: string;
  /** Written together with the word before or after it: `codereview`. */
  readonly joined: readonly string[];
  readonly alike: readonly string[];
}

export interface Wording {
  readonly stem: string;
  /** 0 to 1. */
  readonly likeness: number;
}

/** The concepts of a query, each once. */
export function conceptsOf(query: string): Concept[] {
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
    concepts.set(stem, { stem, joined, alike: alikeTo(stem) });
    if (concepts.size === MAX_CONCEPTS) break;
  }
  return [...concepts.values()];
}

/** The part of an index that knows words. */
export interface Wordbook {
  /** In how many entries the stem is. */
  frequency(stem: string): number;
  /** Stems written nearly like it. */
  like(stem: string): readonly { readonly word: string; readonly likeness: number }[];
}

/** Words by which entries may answer the concept, in any of the books; those nearly like it only where nothing else is. */
export function wordingsOf(concept: Concept, books: readonly Wordbook[]): Wording[] {
  const known = (stem: string): boolean => books.some((book) => book.frequency(stem) > 0);
  const wordings: Wording[] = [
    { stem: concept.stem, likeness: LIKENESS.same },
    ...concept.joined.map((stem) => ({ stem, likeness: LIKENESS.joined })),
    ...concept.alike.map((stem) => ({ stem, likeness: LIKENESS.alike })),
  ].filter(({ stem }) => known(stem));
  if (wordings.length > 0) return wordings;
  const near = books.flatMap((book) => book.like(concept.stem));
  return near.map(({ word, likeness }) => ({ stem: word, likeness: likeness * LIKENESS.misspelt }));
}

/**
 * What answering the concept is worth: more the fewer entries can. It depends on the share of the entries that can, and is
 * bounded, so that a score stays what it is as the catalog grows.
 */
export function weightOf(wordings: readonly Wording[], books: readonly Wordbook[], entries: number): number {
  let frequency = 0;
  for (const book of books) frequency += Math.max(0, ...wordings.map(({ stem }) => book.frequency(stem)));
  const rarity = Math.max(0, Math.log((entries + 1) / (frequency + 1)));
  return LEAST_WEIGHT + ((MOST_WEIGHT - LEAST_WEIGHT) * rarity) / (rarity + MIDDLE);
}
