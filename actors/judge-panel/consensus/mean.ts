import type { Range, Verdict } from './strategy.ts';

type Figure = 'score' | 'confidence';

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

export const weightOf = (verdicts: readonly Verdict[]): number => sum(verdicts.map(({ weight }) => weight));

/** sum(weight * figure) / sum(weight); when all of them weigh nothing, the plain mean. */
export function weightedMean(verdicts: readonly Verdict[], figure: Figure): number {
  const weight = weightOf(verdicts);
  if (weight === 0) return sum(verdicts.map((verdict) => verdict[figure])) / verdicts.length;
  return sum(verdicts.map((verdict) => verdict.weight * verdict[figure])) / weight;
}

/** Bounds of the weighted mean when judges of the given weights may join with anything from 0 to 1. */
export function weightedMeanReach(verdicts: readonly Verdict[], missing: readonly number[], figure: Figure): Range {
  const known = weightOf(verdicts);
  const open = sum(missing);
  const total = weightedMean(verdicts, figure) * known;
  return widened({ low: total / (known + open), high: (total + open) / (known + open) });
}

/** Of the population, unweighted (decided.md). */
export function variance(scores: readonly number[]): number {
  const mean = sum(scores) / scores.length;
  return sum(scores.map((score) => (score - mean) ** 2)) / scores.length;
}

/** The largest variance of numbers from 0 to 1 is 0.25: half of them 0, half of them 1. */
export const agreementOf = (scoreVariance: number): number => 1 - Math.min(1, scoreVariance / 0.25);

/**
 * Bounds of the agreement when up to `missing` more scores may join. Variance is convex in each score, so it is largest
 * with all of them at 0 or 1; it is smallest with all of them at the mean.
 */
export function agreementReach(scores: readonly number[], missing: number): Range {
  const known = scores.length;
  const total = sum(scores);
  const squares = sum(scores.map((score) => score * score));
  let largest = 0;
  for (let ones = 0; ones <= missing; ones += 1) {
    for (let zeros = 0; zeros <= missing - ones; zeros += 1) {
      const count = known + ones + zeros;
      largest = Math.max(largest, (squares + ones) / count - ((total + ones) / count) ** 2);
    }
  }
  const smallest = (variance(scores) * known) / (known + missing);
  return widened({ low: agreementOf(largest), high: agreementOf(smallest) });
}

const ROUNDING = 1e-9;

/** Sums of the same numbers in another order differ in their last digits. */
export const widened = ({ low, high }: Range): Range => ({ low: low - ROUNDING, high: high + ROUNDING });
