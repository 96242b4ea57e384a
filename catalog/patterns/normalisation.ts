import { stemmer } from 'stemmer';

/** Words of a text that are compared; the rest of a longer one says nothing new. */
const MAX_WORDS = { error: 24, solution: 400 } as const;

const MAX_WORD_CHARS = 48;

/**
 * What changes from one occurrence of an error to the next, most specific first. Each is one pass over a bounded text
 * and repeats nothing inside a repetition.
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

/** Apostrophes inside words (`can't`) are none. */
const QUOTED: readonly RegExp[] = [
  /(?<![\p{L}\p{N}])'[^'\n]{0,400}'(?![\p{L}\p{N}])/gu,
  /"[^"\n]{0,400}"/g,
  /`[^`\n]{0,400}`/g,
  /[\u201c\u00ab][^\u201d\u00bb\n]{0,400}[\u201d\u00bb]/gu,
];

/** Words that say nothing. What denies (`not`, `no`, `cannot`) says a lot and stays. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an and are as at be been being by for from had has have in into is it its of on or that the their then there these this those to was were which will with'.split(
    ' ',
  ),
);

const WORD = /[\p{L}\p{N}]+(?:['\u2019][\p{L}]+)?/gu;

/** Scripts that put no space between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u;

/**
 * The words of an error's signature or message as they are compared: numbers, paths, addresses, identifiers and quoted
 * values left out, in lower case, without stop words, English endings cut off (Porter). A text that holds nothing else
 * keeps what it has, one of signs alone its signs.
 */
export function errorWords(text: string): readonly string[] {
  const plain = QUOTED.reduce((left, quoted) => left.replace(quoted, ' '), withoutVolatile(text));
  const words = stems(plain, MAX_WORDS.error);
  return words.length > 0 ? words : whatItHas(text, MAX_WORDS.error);
}

/** The same of a solution, where a quoted value is what it is about. */
export function solutionWords(text: string): readonly string[] {
  const words = stems(withoutVolatile(text), MAX_WORDS.solution);
  return words.length > 0 ? words : whatItHas(text, MAX_WORDS.solution);
}

/** Types are the same whatever their case. */
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

/** So that two of which nothing would be left are not taken for one. */
function whatItHas(text: string, most: number): string[] {
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

/** A pair of neighbouring words counts half of a word: order matters less than what is spoken of. */
const PAIR_WEIGHT = 0.5;

/** Of the similarity of two errors: the signature names the error, the message tells of one occurrence. */
const SIGNATURE_SHARE = 0.85;

/** Of the similarity of two solutions that both have code. */
const APPROACH_SHARE = 0.7;

/** What two patterns are compared by (normalisation.ts). */
export interface ComparedError {
  readonly signature: readonly string[];
  readonly message: readonly string[];
}

export interface ComparedSolution {
  readonly approach: readonly string[];
  /** Empty: it has no code. */
  readonly code: readonly string[];
}

/** How often each word and each pair of neighbours occurs, pairs weighing half. */
type Vector = ReadonlyMap<string, number>;

function vectorOf(words: readonly string[]): Vector {
  const vector = new Map<string, number>();
  let before: string | undefined;
  for (const word of words) {
    vector.set(word, (vector.get(word) ?? 0) + 1);
    if (before !== undefined) {
      const pair = `${before} ${word}`;
      vector.set(pair, (vector.get(pair) ?? 0) + PAIR_WEIGHT);
    }
    before = word;
  }
  return vector;
}

const lengthOf = (vector: Vector): number => Math.sqrt([...vector.values()].reduce((sum, one) => sum + one * one, 0));

/**
 * How similar two texts are: the cosine between their vectors, from 0 (no word in common) to 1 (the same words in the same
 * order). It depends on these two texts alone, so it stays the same as more are stored.
 */
export function similarity(some: readonly string[], others: readonly string[]): number {
  return similarityTo(some)(others);
}

/** The same for one text against many. */
export function similarityTo(some: readonly string[]): (others: readonly string[]) => number {
  const one = vectorOf(some);
  const length = lengthOf(one);
  return (others) => {
    if (some.length === 0 || others.length === 0) return some.length === others.length ? 1 : 0;
    const other = vectorOf(others);
    let product = 0;
    for (const [part, weight] of other) product += weight * (one.get(part) ?? 0);
    // Rounded, so that equal texts are similar by exactly 1.
    return Math.round((product / (length * lengthOf(other))) * 1e6) / 1e6;
  };
}

/** Signature, and message where both have one. */
export function errorSimilarity(some: ComparedError, other: ComparedError): number {
  const signature = similarity(some.signature, other.signature);
  if (some.message.length === 0 || other.message.length === 0) return signature;
  return SIGNATURE_SHARE * signature + (1 - SIGNATURE_SHARE) * similarity(some.message, other.message);
}

/** Approach, and code where both have some. */
export function solutionSimilarity(some: ComparedSolution, other: ComparedSolution): number {
  const approach = similarity(some.approach, other.approach);
  if (some.code.length === 0 || other.code.length === 0) return approach;
  return APPROACH_SHARE * approach + (1 - APPROACH_SHARE) * similarity(some.code, other.code);
}
