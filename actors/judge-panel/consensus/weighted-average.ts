import { agreementOf, agreementReach, variance, weightedMean, weightedMeanReach } from './mean.ts';
import type { Strategy } from './strategy.ts';

/** Weighted mean of the scores; judges who disagree lower the confidence. */
export const weightedAverage: Strategy = {
  conclude(verdicts, { confidence_weighting: factors }) {
    const agreement = agreementOf(variance(verdicts.map(({ score }) => score)));
    const self = weightedMean(verdicts, 'confidence');
    return {
      score: weightedMean(verdicts, 'score'),
      confidence: factors.agreement_factor * agreement + factors.self_confidence_factor * self,
    };
  },

  reach(verdicts, missing, { confidence_weighting: factors }) {
    const scores = verdicts.map(({ score }) => score);
    const agreement = agreementReach(scores, missing.length);
    const self = weightedMeanReach(verdicts, missing, 'confidence');
    const confidence = (bound: 'low' | 'high'): number =>
      factors.agreement_factor * agreement[bound] + factors.self_confidence_factor * self[bound];
    return {
      score: weightedMeanReach(verdicts, missing, 'score'),
      confidence: { low: confidence('low'), high: confidence('high') },
    };
  },
};
