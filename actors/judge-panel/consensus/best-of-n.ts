import { weightedMean, weightOf, widened } from './mean.ts';
import { ANYTHING, type Strategy, type Verdict } from './strategy.ts';
import { weightedAverage } from './weighted-average.ts';

/** The N verdicts with the largest score times confidence (all of them without `n`), as a weighted average. */
export const bestOfN: Strategy = {
  conclude: (verdicts, rule) => weightedAverage.conclude(ranked(verdicts).slice(0, rule.n), rule),

  /**
   * Of the missing judges some, `joined` of them, end among the best. They push out as many of the worst; to do so each
   * has a product, and so a score, of at least the best one pushed out. A mean with scores that are all as low, or all
   * as high, as they can be is at its bounds with the heaviest or the lightest judges.
   */
  reach(verdicts, missing, { n = Number.POSITIVE_INFINITY }) {
    const best = ranked(verdicts);
    const weights = [...missing].sort((one, other) => one - other);
    let [low, high] = [1, 0];
    for (let joined = 0; joined <= Math.min(missing.length, n); joined += 1) {
      const kept = best.slice(0, n - joined);
      const floor = best[n - joined];
      const least = floor === undefined ? 0 : product(floor);
      const lightest = total(weights.slice(0, joined));
      const heaviest = total(weights.slice(weights.length - joined));
      low = Math.min(low, joinedMean(kept, least, lightest), joinedMean(kept, least, heaviest));
      high = Math.max(high, joinedMean(kept, 1, heaviest));
    }
    return { score: widened({ low, high }), confidence: ANYTHING };
  },
};

const product = ({ score, confidence }: Verdict): number => score * confidence;
const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);

/** Best first; equal products stay in canonical order. */
const ranked = (verdicts: readonly Verdict[]): Verdict[] =>
  [...verdicts].sort((one, other) => product(other) - product(one));

function joinedMean(kept: readonly Verdict[], score: number, weight: number): number {
  const known = weightOf(kept);
  const mean = known === 0 ? 0 : weightedMean(kept, 'score');
  return (mean * known + score * weight) / (known + weight);
}
