/** A pair of neighbouring words counts half of a word: order matters less than what is spoken of. */
const PAIR_WEIGHT = 0.5;
/** Of the likeness of two errors: the signature names the error, the message tells of one occurrence. */
const SIGNATURE_SHARE = 0.85;
/** Of the likeness of two solutions that both have code. */
const APPROACH_SHARE = 0.7;

/** What two patterns are compared by (normal-form.ts). */
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
 * How alike two texts are: the cosine between their vectors, from 0 (no word in common) to 1 (the same words in the same
 * order). It depends on these two texts alone, so it stays the same as more are stored.
 */
export function likeness(some: readonly string[], others: readonly string[]): number {
  return likenessTo(some)(others);
}

/** The same for one text against many. */
export function likenessTo(some: readonly string[]): (others: readonly string[]) => number {
  const one = vectorOf(some);
  const length = lengthOf(one);
  return (others) => {
    if (some.length === 0 || others.length === 0) return some.length === others.length ? 1 : 0;
    const other = vectorOf(others);
    let product = 0;
    for (const [part, weight] of other) product += weight * (one.get(part) ?? 0);
    // Rounded, so that equal texts are alike by exactly 1.
    return Math.round((product / (length * lengthOf(other))) * 1e6) / 1e6;
  };
}

/** Signature, and message where both have one. */
export function errorLikeness(some: ComparedError, other: ComparedError): number {
  const signature = likeness(some.signature, other.signature);
  if (some.message.length === 0 || other.message.length === 0) return signature;
  return SIGNATURE_SHARE * signature + (1 - SIGNATURE_SHARE) * likeness(some.message, other.message);
}

/** Approach, and code where both have some. */
export function solutionLikeness(some: ComparedSolution, other: ComparedSolution): number {
  const approach = likeness(some.approach, other.approach);
  if (some.code.length === 0 || other.code.length === 0) return approach;
  return APPROACH_SHARE * approach + (1 - APPROACH_SHARE) * likeness(some.code, other.code);
}
