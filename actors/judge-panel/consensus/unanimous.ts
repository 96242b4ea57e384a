import { widened } from './mean.ts';
import { passes, type Strategy, type Verdict } from './strategy.ts';

const least = (verdicts: readonly Verdict[]): number => Math.min(...verdicts.map(({ confidence }) => confidence));

/** The mean of the scores, unweighted, when all reach the threshold, else 0; as sure as the least sure judge. */
export const unanimous: Strategy = {
  conclude(verdicts, rule) {
    const agreed = verdicts.every((verdict) => passes(verdict, rule));
    const mean = verdicts.reduce((total, { score }) => total + score, 0) / verdicts.length;
    return { score: agreed ? mean : 0, confidence: least(verdicts) };
  },

  reach(verdicts, missing, rule) {
    const confidence = { low: missing.length > 0 ? 0 : least(verdicts), high: least(verdicts) };
    const refused = verdicts.some((verdict) => !passes(verdict, rule));
    if (refused) return { score: { low: 0, high: 0 }, confidence };
    const { score } = this.conclude(verdicts, rule);
    return { score: missing.length > 0 ? { low: 0, high: 1 } : widened({ low: score, high: score }), confidence };
  },
};
