import type { NewPattern } from '../../catalog/patterns-api.ts';

const WORDS = 5_000;
const TYPES = [
  'TypeError',
  'ValueError',
  'program_failed',
  'validation_failed',
  'TimeoutError',
  'ECONNREFUSED',
  'IOError',
];
const SYLLABLES = [
  'ba',
  'ce',
  'di',
  'fo',
  'gu',
  'la',
  'me',
  'ni',
  'po',
  'ru',
  'sa',
  'te',
  'vi',
  'wo',
  'zu',
  'kar',
  'lin',
  'tor',
];

/** Numbers in [0, 1) that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function word(index: number): string {
  let left = index + 18;
  let text = '';
  while (left > 0) {
    text += SYLLABLES[left % SYLLABLES.length];
    left = Math.floor(left / SYLLABLES.length);
  }
  return text;
}

/** Words as texts have them: the n-th most frequent one time in n (Zipf), so a few are in most errors. */
function wordOf(random: () => number): string {
  return word(Math.floor(WORDS ** random()) - 1);
}

const words = (random: () => number, least: number, most: number): string =>
  Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, () => wordOf(random)).join(' ');

/** The n-th error of the corpus with its solution; the same in every run. */
export function patternOf(index: number): NewPattern {
  const random = seeded(index * 7_919 + 1);
  const errorType = TYPES[Math.floor(random() * TYPES.length)] ?? 'Error';
  const signature = words(random, 5, 12);
  return {
    errorType,
    errorSignature: `${errorType}: ${signature} at /srv/app/file${index}.ts:${index}`,
    errorMessage: `${signature} ${words(random, 5, 20)}`,
    solutionApproach: words(random, 10, 30),
    solutionCode: words(random, 20, 60),
    tags: ['bench'],
  };
}

/** The n-th error as it occurs again: at another line, with one word more and one less. */
export function seenAgain(index: number): string {
  const random = seeded(index * 104_729 + 3);
  const parts = patternOf(index).errorSignature.split(' ');
  parts.splice(2 + Math.floor(random() * 2), 1);
  return [...parts.slice(0, -2), wordOf(random), 'at', `/tmp/other${index}.ts:${index * 3}`].join(' ');
}
