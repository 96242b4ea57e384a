/** Below it two words are not taken for one another. */
const MIN_LIKENESS = 0.55;
const MIN_CHARS = 4;
const MAX_FOUND = 5;
/** With fewer trigrams in common words are not compared any further. */
const MIN_SHARED = 3;
const HAS_DIGIT = /\d/;
const CHARS_PER_SLIP = 4;

export interface LikeWord {
  readonly word: string;
  /** 0 to 1: the best of shared trigrams (Dice's coefficient), letters to change, and how much of it a beginning is. */
  readonly likeness: number;
}

/**
 * All stems of an index by their character trigrams, for words of a query that it does not hold: slips of the pen, words
 * written together, beginnings. Stems stay when their last entry goes; they then find nothing.
 */
export class Vocabulary {
  readonly #words: string[] = [];
  /** Places in the list of words. */
  readonly #byGram = new Map<string, number[]>();

  /** Each word once: the caller knows which are new. Numbers have no slips of the pen. */
  add(word: string): void {
    if (word.length < MIN_CHARS || HAS_DIGIT.test(word)) return;
    const at = this.#words.push(word) - 1;
    for (const gram of gramsOf(word)) {
      const places = this.#byGram.get(gram);
      if (places === undefined) this.#byGram.set(gram, [at]);
      else places.push(at);
    }
  }

  /** The likest words, best first. */
  like(word: string): LikeWord[] {
    if (word.length < MIN_CHARS || HAS_DIGIT.test(word)) return [];
    const grams = gramsOf(word);
    const shared = new Uint8Array(this.#words.length);
    for (const gram of grams) {
      for (const at of this.#byGram.get(gram) ?? []) shared[at] = (shared[at] ?? 0) + 1;
    }
    const found: LikeWord[] = [];
    for (let at = 0; at < shared.length; at += 1) {
      const count = shared[at] ?? 0;
      if (count < MIN_SHARED) continue;
      const other = this.#words[at] ?? '';
      const dice = (2 * count) / (grams.size + other.length + 1);
      const likeness = Math.max(dice, beginning(word, other), slip(word, other));
      if (likeness >= MIN_LIKENESS) found.push({ word: other, likeness: Math.min(1, likeness) });
    }
    return found.sort((a, b) => b.likeness - a.likeness || (a.word < b.word ? -1 : 1)).slice(0, MAX_FOUND);
  }
}

/** `kube` is a beginning of `kubernet`; the half that is missing costs as much. */
const beginning = (word: string, other: string): number =>
  other.startsWith(word) ? 0.5 + (0.5 * word.length) / other.length : 0;

/** The first letter is seldom wrong: with the mark before it, it counts twice. */
function gramsOf(word: string): Set<string> {
  const marked = `^^${word}$`;
  const grams = new Set<string>();
  for (let at = 0; at + 3 <= marked.length; at += 1) grams.add(marked.slice(at, at + 3));
  return grams;
}

/** 0 when more than a letter in four has to be changed, left out, put in, or swapped with the next. */
function slip(word: string, other: string): number {
  const length = Math.max(word.length, other.length);
  const most = Math.floor(length / CHARS_PER_SLIP);
  if (Math.abs(word.length - other.length) > most) return 0;
  const slips = slipsBetween(word, other);
  return slips > most ? 0 : 1 - slips / length;
}

/** Optimal string alignment distance. */
function slipsBetween(word: string, other: string): number {
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= word.length; row += 1) {
    const line = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const same = word[row - 1] === other[at - 1];
      let least = Math.min((above[at] ?? 0) + 1, (line[at - 1] ?? 0) + 1, (above[at - 1] ?? 0) + (same ? 0 : 1));
      const swapped = row > 1 && at > 1 && word[row - 1] === other[at - 2] && word[row - 2] === other[at - 1];
      if (swapped) least = Math.min(least, (before[at - 2] ?? 0) + 1);
      line.push(least);
    }
    before = above;
    above = line;
  }
  return above.at(-1) ?? 0;
}
