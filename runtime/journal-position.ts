/**
 * Position of a row in a partition's journal, and of a delivery in the ledger: the number of the mailbox entry that the
 * cursor stands at, and how many results of effects were handled beside the mailbox since it stands there. As one number,
 * `17.0003`, so that positions are compared, sorted and stored as the numbers of entries are.
 */
const WIDTH = 10_000;

/** Results handled beside the mailbox while its cursor stands still; more are sent through the mailbox, which moves it. */
export const MOST_BESIDE = WIDTH - 1;

export function positionOf(upTo: number, beside: number): number {
  // A quotient of two integers is the number that its decimal text names, so it is the same one when it is read back.
  return (upTo * WIDTH + beside) / WIDTH;
}

export function partsOf(position: number): { readonly upTo: number; readonly beside: number } {
  const upTo = Math.floor(position);
  return { upTo, beside: Math.round((position - upTo) * WIDTH) };
}

/** A whole number that grows with the position. */
export const countOf = (position: number): number => {
  const { upTo, beside } = partsOf(position);
  return upTo * WIDTH + beside;
};

/** Position of the result at `index` of `count` that a commit handled whose row is at `position`. */
export function resultPosition(position: number, index: number, count: number): number {
  const { upTo, beside } = partsOf(position);
  return positionOf(upTo, beside - count + 1 + index);
}
