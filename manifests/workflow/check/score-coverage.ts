import type { Transition } from '../transition.ts';

interface Interval {
  readonly from: number;
  readonly withFrom: boolean;
  readonly to: number;
  readonly withTo: boolean;
}

/** The first score from 0 to 1 that no condition matches, in words; null when all are matched. */
export function unmatchedScore(transitions: readonly Transition[]): string | null {
  const intervals = transitions
    .map(intervalOf)
    .filter((one): one is Interval => one !== null)
    .sort((a, b) => a.from - b.from || Number(b.withFrom) - Number(a.withFrom));
  let reached = 0;
  let withReached = false;
  for (const { from, withFrom, to, withTo } of intervals) {
    if (from > reached || (from === reached && !withFrom && !withReached)) break;
    if (to > reached) {
      reached = to;
      withReached = withTo;
    } else if (to === reached && from <= to) withReached ||= withTo;
  }
  if (reached > 1 || (reached === 1 && withReached)) return null;
  return withReached ? `the score is above ${reached}` : `the score is ${reached}`;
}

function intervalOf({ condition, threshold = 0, min = 0, max = 1 }: Transition): Interval | null {
  if (condition === 'score_above' && threshold < 1) return { from: threshold, withFrom: false, to: 1, withTo: true };
  if (condition === 'score_below' && threshold > 0) return { from: 0, withFrom: true, to: threshold, withTo: false };
  if (condition === 'score_between' && max >= 0)
    return { from: Math.max(min, 0), withFrom: true, to: max, withTo: true };
  return null;
}
