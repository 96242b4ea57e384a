import { createHash } from 'node:crypto';

/** A term of a signature, by which patterns are found. */
export interface Term {
  /** Of 2^20 places a tenant has; terms that share one by chance are told apart when patterns are compared. */
  readonly place: string;
  /** How much it says when few have it. */
  readonly says: number;
}

/** Of the terms: a word and a pair say one thing, the whole signature says all. */
const WHOLE_SAYS = 8;
const PLACE_DIGITS = 5;

/** Words, pairs of neighbours, and the whole: at most 48 of the 24 words that a signature is cut to. */
export function termsOf(words: readonly string[]): readonly Term[] {
  const says = new Map<string, number>([[placeOf('whole', words.join(' ')), WHOLE_SAYS]]);
  const add = (place: string): void => {
    if (!says.has(place)) says.set(place, 1);
  };
  for (const [at, word] of words.entries()) {
    add(placeOf('word', word));
    const next = words[at + 1];
    if (next !== undefined) add(placeOf('pair', `${word} ${next}`));
  }
  return [...says].map(([place, weight]) => ({ place, says: weight }));
}

const placeOf = (kind: 'whole' | 'word' | 'pair', text: string): string =>
  createHash('sha256').update(`${kind} ${text}`).digest('hex').slice(0, PLACE_DIGITS);
