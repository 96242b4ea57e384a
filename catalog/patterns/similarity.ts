/** Weight of a pair of neighbouring words, relative to a word: order matters less than vocabulary. */
const PAIR_WEIGHT = 0.5;

/** Share of the signature in the similarity of two errors; the message, which describes one occurrence, has the rest. */
const SIGNATURE_SHARE = 0.85;

/** Share of the approach in the similarity of two solutions that both have code. */
const APPROACH_SHARE = 0.7;

/** Normalised words (normalisation.ts) by which errors are compared. */
export interface ComparedError {
  readonly signature: readonly string[];
  readonly message: readonly string[];
}

export interface ComparedSolution {
  readonly approach: readonly string[];
  /** Empty without code. */
  readonly code: readonly string[];
}

/** Counts of words and of pairs of neighbours; pairs weigh half. */
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
 * Cosine similarity of two texts, from 0 (no word in common) to 1 (the same words in the same order). It depends on these two
 * texts only, so it does not change as more patterns are stored.
 */
export function similarity(some: readonly string[], others: readonly string[]): number {
  return similarityTo(some)(others);
}

/** As `similarity`, for comparing one text with many. */
export function similarityTo(some: readonly string[]): (others: readonly string[]) => number {
  const one = vectorOf(some);
  const length = lengthOf(one);
  return (others) => {
    if (some.length === 0 || others.length === 0) return some.length === others.length ? 1 : 0;
    const other = vectorOf(others);
    let product = 0;
    for (const [part, weight] of other) product += weight * (one.get(part) ?? 0);
    // Rounded, so that equal texts have exactly 1.
    return Math.round((product / (length * lengthOf(other))) * 1e6) / 1e6;
  };
}

/** Compares the signatures, and the messages when both errors have one. */
export function errorSimilarity(some: ComparedError, other: ComparedError): number {
  const signature = similarity(some.signature, other.signature);
  if (some.message.length === 0 || other.message.length === 0) return signature;
  return SIGNATURE_SHARE * signature + (1 - SIGNATURE_SHARE) * similarity(some.message, other.message);
}

/** Compares the approaches, and the code when both solutions have some. */
export function solutionSimilarity(some: ComparedSolution, other: ComparedSolution): number {
  const approach = similarity(some.approach, other.approach);
  if (some.code.length === 0 || other.code.length === 0) return approach;
  return APPROACH_SHARE * approach + (1 - APPROACH_SHARE) * similarity(some.code, other.code);
}
