/** Below it two words are not taken for one another. */
const MIN_LIKENESS = 0.55;
const MIN_CHARS = 4;
const MAX_FOUND = 5;

export interface LikeWord {
  readonly word: string;
  /** 0 to 1: Dice's coefficient of their character trigrams, or how much of the longer one a beginning is. */
  readonly likeness: number;
}

/**
 * All stems of an index by their character trigrams, for words of a query that it does not hold: slips of the pen, words
 * written together, beginnings. Stems stay when their last entry goes; they then find nothing.
 */
export class Vocabulary {
  readonly #byGram = new Map<string, string[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Each word once: the caller knows which are new. */
  add(word: string): void {
    if (word.length < MIN_CHARS) return;
    this.#size += 1;
    for (const gram of gramsOf(word)) {
      const words = this.#byGram.get(gram);
      if (words === undefined) this.#byGram.set(gram, [word]);
      else words.push(word);
    }
  }

  /** The likest words, best first. */
  like(word: string): LikeWord[] {
    if (word.length < MIN_CHARS) return [];
    const grams = gramsOf(word);
    const shared = new Map<string, number>();
    for (const gram of grams) {
      for (const other of this.#byGram.get(gram) ?? []) shared.set(other, (shared.get(other) ?? 0) + 1);
    }
    const found: LikeWord[] = [];
    for (const [other, count] of shared) {
      const likeness = Math.max((2 * count) / (grams.size + gramsOf(other).size), beginning(word, other));
      if (likeness >= MIN_LIKENESS) found.push({ word: other, likeness });
    }
    return found.sort((a, b) => b.likeness - a.likeness || (a.word < b.word ? -1 : 1)).slice(0, MAX_FOUND);
  }
}

/** `kube` is a beginning of `kubernet`; the half that is missing costs as much. */
function beginning(word: string, other: string): number {
  if (!other.startsWith(word) && !word.startsWith(other)) return 0;
  const short = Math.min(word.length, other.length);
  return 0.5 + (0.5 * short) / Math.max(word.length, other.length);
}

/** The first letter is seldom wrong: with the mark before it, it counts twice. */
function gramsOf(word: string): Set<string> {
  const marked = `^^${word}$`;
  const grams = new Set<string>();
  for (let at = 0; at + 3 <= marked.length; at += 1) grams.add(marked.slice(at, at + 3));
  return grams;
}
