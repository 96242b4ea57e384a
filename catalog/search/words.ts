import { stemmer } from 'stemmer';
import { ALIKE } from './alike.ts';
import { STOP_WORDS } from './stop-words.ts';

/** Of one text; what follows is left out. */
const MAX_TEXT_CHARS = 16_384;
const MAX_WORD_CHARS = 64;
/** Stemming is half of the time an index takes to build, and catalogs repeat their words. */
const MAX_KNOWN_STEMS = 50_000;

const MARKS = /\p{M}+/gu;
/** `codeReview`, `PDFReader` and `v2beta` are several words. */
const HUMPS = /(\p{Ll}|\p{N})(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll})/gu;
/** `PRs` and `APIs` are several of one. */
const PLURALS = /(?<!\p{L})(\p{Lu}{2,})s(?!\p{L})/gu;
const WORD = /[\p{L}\p{N}]+(?:'[\p{L}]+)?/gu;
const PLAIN = /^[a-z]+$/;

const stems = new Map<string, string>();

/** The stem of a lower-case word (Porter's for words of a to z; others are their own). */
export function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  const stem = PLAIN.test(word) ? stemmer(britishOf(word)) : word;
  if (stems.size >= MAX_KNOWN_STEMS) stems.clear();
  stems.set(word, stem);
  return stem;
}

/** `summarise` and `summarize` are one word, and the stemmer knows the second. */
const britishOf = (word: string): string =>
  word.length < 7 ? word : word.replace(/is(e|es|ed|er|ers|ing|ation|ations)$/, 'iz$1').replace(/our(s?)$/, 'or$1');

/** The words of a text as written, lower case and without accents, camelCase and kebab-case taken apart. */
export function wordsOf(text: string): string[] {
  const apart = text.slice(0, MAX_TEXT_CHARS).replace(PLURALS, '$1').replace(HUMPS, '$1$3 $2$4');
  const plain = apart.normalize('NFKD').replace(MARKS, '');
  const words: string[] = [];
  for (const [word] of plain.toLowerCase().matchAll(WORD)) {
    if (word.length <= MAX_WORD_CHARS) words.push(word.replace(/'.*$/, ''));
  }
  return words;
}

/** The same without words that say nothing; all of them where nothing else is left. */
export function tellingWordsOf(text: string): string[] {
  const words = wordsOf(text);
  const telling = words.filter(isTelling);
  return telling.length === 0 ? words : telling;
}

export const isTelling = (word: string): boolean => !STOP_WORDS.has(word);

const alike = new Map<string, readonly string[]>();
for (const group of ALIKE) {
  const all = group.map((word) => stemOf(word));
  for (const stem of all) {
    const known = alike.get(stem) ?? [];
    alike.set(stem, [...known, ...all.filter((other) => other !== stem && !known.includes(other))]);
  }
}

/** Stems of words with the same meaning. */
export const alikeTo = (stem: string): readonly string[] => alike.get(stem) ?? [];
