import { ANYTHING, type Strategy, type Verdict } from './strategy.ts';

/**
 * One approving judge is enough: score and confidence are those of the best one, the highest score and among equal
 * scores the highest confidence (decided.md). When nobody approves, those of the best judge, below the threshold.
 */
export const anyApproved: Strategy = {
  conclude(verdicts) {
    const { score, confidence } = verdicts.reduce(better);
    return { score, confidence };
  },

  reach(verdicts, missing, rule) {
    const { score, confidence } = this.conclude(verdicts, rule);
    if (missing.length === 0) return { score: point(score), confidence: point(confidence) };
    // Nobody is better than a 1, and an equal one only raises the confidence.
    if (score === 1) return { score: point(1), confidence: { low: confidence, high: 1 } };
    return { score: { low: score, high: 1 }, confidence: ANYTHING };
  },
};

const point = (value: number) => ({ low: value, high: value });

function better(one: Verdict, other: Verdict): Verdict {
  if (one.score !== other.score) return one.score > other.score ? one : other;
  return one.confidence >= other.confidence ? one : other;
}
