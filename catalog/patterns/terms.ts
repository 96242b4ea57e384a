import { createHash } from 'node:crypto';

/** A term of a signature, by which patterns are found, and how much it says when few have it. */
export interface Term {
  readonly key: string;
  readonly says: number;
}

/** Of the terms: a word and a pair say one thing, the whole signature says all. */
const WHOLE_SAYS = 8;

/** Words, pairs of neighbours, and the whole. At most 48 of the 24 words a signature is cut to. */
export function termsOf(words: readonly string[]): readonly Term[] {
  const keys = new Set<string>(words.map((word) => `w:${word}`));
  for (const [at, word] of words.entries()) {
    const next = words[at + 1];
    if (next !== undefined) keys.add(`p:${word} ${next}`);
  }
  const whole = createHash('sha256').update(words.join(' ')).digest('base64url').slice(0, 22);
  return [{ key: `s:${whole}`, says: WHOLE_SAYS }, ...[...keys].map((key) => ({ key, says: 1 }))];
}
