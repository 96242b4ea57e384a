/** Bounds of one panel: its state, its judges' words and its verdict are written as a whole. In UTF-16 units. */
export const LIMITS = {
  /** Longest output that is read as a judge's. */
  outputChars: 64 * 1024,
  /** What is kept of an output that is none. */
  keptOutputChars: 4 * 1024,
  /** A judge's reasoning among the results. */
  reasoningChars: 16 * 1024,
  /** Why one judge has no verdict. */
  reasonChars: 500,
  /** Why a panel has none. */
  errorChars: 4 * 1024,
} as const;
