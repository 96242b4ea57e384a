import { stemmer } from 'stemmer';

/** Maximum number of words compared; further words are ignored. */
const MAX_WORDS = { error: 24, solution: 400 } as const;

const MAX_WORD_CHARS = 48;

/**
 * Parts that change from one occurrence of an error to the next, most specific first. Each pattern is linear: one pass over
 * a bounded text, without nested repetition.
 */
const VOLATILE: readonly RegExp[] = [
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>)\]]{1,2000}/gi,
  /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?\b/g,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /(?<![\w.])[A-Za-z]:\\[^\s"'`<>|?*]{1,1000}/g,
  /(?<![\w])(?:\.{1,2}|~)?\/[\w.@+-][^\s"'`<>|(),;]{0,1000}/g,
  /\b[\w-]{1,100}\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|cc|cpp|h|hpp|cs|php|sh|ya?ml|json|toml|lock|sql)\b(?::\d{1,9}){0,2}/gi,
  /\b0x[0-9a-f]{1,64}\b/gi,
  /\b(?=[0-9a-f]{0,63}\d)[0-9a-f]{8,64}\b/gi,
  /(?<![\p{L}\p{N}])[-+]?\d[\d.,_]{0,40}(?:e[-+]?\d{1,4})?(?:ns|us|ms|s|m|h|kb|mb|gb|kib|mib|gib|b|%)?(?![\p{L}\p{N}])/giu,
];

/** Quoted values. Apostrophes inside words (`can't`) are not quotes. */
const QUOTED: readonly RegExp[] = [
  /(?<![\p{L}\p{N}])'[^'\n]{0,400}'(?![\p{L}\p{N}])/gu,
  /"[^"\n]{0,400}"/g,
  /`[^`\n]{0,400}`/g,
  /[\u201c\u00ab][^\u201d\u00bb\n]{0,400}[\u201d\u00bb]/gu,
];

/** Words without meaning. Negations (`not`, `no`, `cannot`) are kept. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and are as at be been being by for from had has have in into is it its of on or that the their then there these this those to was were which will with'.split(
    ' ',
  ),
);

const WORD = /[\p{L}\p{N}]+(?:['\u2019][\p{L}]+)?/gu;

/** Scripts without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u;

/**
 * Normalises the signature or message of an error: removes numbers, paths, addresses, identifiers, quoted values and stop
 * words, then lower-cases and stems (Porter). If nothing is left, the original words are used, or without words its signs.
 */
export function errorWords(text: string): readonly string[] {
  const plain = QUOTED.reduce((left, quoted) => left.replace(quoted, ' '), withoutVolatile(text));
  const words = stems(plain, MAX_WORDS.error);
  return words.length > 0 ? words : fallbackWords(text, MAX_WORDS.error);
}

/** Normalises a solution in the same way, but keeps quoted values, which are part of its meaning. */
export function solutionWords(text: string): readonly string[] {
  const words = stems(withoutVolatile(text), MAX_WORDS.solution);
  return words.length > 0 ? words : fallbackWords(text, MAX_WORDS.solution);
}

/** Error types are compared without case. */
export const typeKey = (errorType: string): string => errorType.normalize('NFC').trim().toLowerCase();

const withoutVolatile = (text: string): string =>
  VOLATILE.reduce((left, volatile) => left.replace(volatile, ' '), text.normalize('NFC'));

function stems(text: string, most: number): string[] {
  const words: string[] = [];
  for (const word of rawWords(text, most * 4)) {
    if (STOP_WORDS.has(word)) continue;
    words.push(/^[a-z]+$/.test(word) ? stemmer(word) : word);
    if (words.length === most) break;
  }
  return words;
}

/** Keeps two texts that normalise to nothing distinct. */
function fallbackWords(text: string, most: number): string[] {
  const words = rawWords(text, most);
  if (words.length > 0) return words;
  const signs = [...text.normalize('NFC').replaceAll(/\s/g, '')].slice(0, MAX_WORD_CHARS).join('');
  return signs === '' ? [] : [signs];
}

function rawWords(text: string, most: number): string[] {
  const found = (text.match(WORD) ?? []).flatMap((word) => (UNSPACED.test(word) ? segments(word) : [word]));
  return found.slice(0, most).map((word) =>
    word
      .toLowerCase()
      .replace(/['\u2019]/g, '')
      .slice(0, MAX_WORD_CHARS),
  );
}

let segmenter: Intl.Segmenter | undefined;

function segments(word: string): string[] {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' });
  return [...segmenter.segment(word)].flatMap(({ segment, isWordLike }) => (isWordLike === true ? [segment] : []));
}
