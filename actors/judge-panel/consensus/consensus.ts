import type { ConsensusRule } from '../messages.ts';

/**
 * One approving judge is enough: score and confidence are those of the best one, the highest score and among equal
 * scores the highest confidence (G10). When none approves they are the best judge's, below the threshold.
 */
const anyApproved: Strategy = {
  conclude(verdicts) {
    const { score, confidence } = verdicts.reduce(better);
    return { score, confidence };
  },

  reach(verdicts, missing, rule) {
    const { score, confidence } = this.conclude(verdicts, rule);
    if (missing.length === 0) return { score: point(score), confidence: point(confidence) };
    // No score exceeds 1, and an equal one only raises the confidence.
    if (score === 1) return { score: point(1), confidence: { low: confidence, high: 1 } };
    return { score: { low: score, high: 1 }, confidence: ANYTHING };
  },
};

const point = (value: number) => ({ low: value, high: value });

function better(one: Verdict, other: Verdict): Verdict {
  if (one.score !== other.score) return one.score > other.score ? one : other;
  return one.confidence >= other.confidence ? one : other;
}

/** The N verdicts with the largest score times confidence (all of them without `n`), as a weighted average. */
const bestOfN: Strategy = {
  conclude: (verdicts, rule) => weightedAverage.conclude(ranked(verdicts).slice(0, rule.n), rule),

  /**
   * Bounds the mean when `joined` of the missing judges enter the best `n`. They displace as many of the worst, so their
   * products, and therefore their scores, are at least those of the best displaced one. With scores that are all as low, or all
   * as high, as possible, the mean is at its bounds with the heaviest or the lightest judges.
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

/** Each judge votes: a score at or above the threshold is a pass. Weights do not count; a tie scores 0.5. */
const majority: Strategy = {
  conclude(verdicts, rule) {
    const passed = verdicts.filter((verdict) => passes(verdict, rule)).length;
    return outcome(passed, verdicts.length - passed);
  },

  /** Exact: every possible number of further votes is tried. */
  reach(verdicts, missing, rule) {
    const passed = verdicts.filter((verdict) => passes(verdict, rule)).length;
    const failed = verdicts.length - passed;
    // No score is below a threshold of 0.
    const mayFail = rule.threshold > 0 ? missing.length : 0;
    const outcomes = [];
    for (let more = 0; more <= missing.length; more += 1) {
      for (let against = 0; against <= Math.min(mayFail, missing.length - more); against += 1) {
        outcomes.push(outcome(passed + more, failed + against));
      }
    }
    return {
      score: rangeOf(outcomes.map(({ score }) => score)),
      confidence: rangeOf(outcomes.map((o) => o.confidence)),
    };
  },
};

/** Confidence is the margin of the vote (W11). */
function outcome(passed: number, failed: number) {
  const score = passed > failed ? 1 : passed < failed ? 0 : 0.5;
  return { score, confidence: Math.abs(passed - failed) / (passed + failed) };
}

const rangeOf = (numbers: readonly number[]): Range => ({ low: Math.min(...numbers), high: Math.max(...numbers) });

type Figure = 'score' | 'confidence';

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const weightOf = (verdicts: readonly Verdict[]): number => sum(verdicts.map(({ weight }) => weight));

/** sum(weight * figure) / sum(weight); the plain mean when all weights are 0. */
function weightedMean(verdicts: readonly Verdict[], figure: Figure): number {
  const weight = weightOf(verdicts);
  if (weight === 0) return sum(verdicts.map((verdict) => verdict[figure])) / verdicts.length;
  return sum(verdicts.map((verdict) => verdict.weight * verdict[figure])) / weight;
}

/** Bounds of the weighted mean when missing judges of the given weights may add any value from 0 to 1. */
function weightedMeanReach(verdicts: readonly Verdict[], missing: readonly number[], figure: Figure): Range {
  const known = weightOf(verdicts);
  const open = sum(missing);
  const total = weightedMean(verdicts, figure) * known;
  return widened({ low: total / (known + open), high: (total + open) / (known + open) });
}

/** Of the population, unweighted (W11). */
function variance(scores: readonly number[]): number {
  const mean = sum(scores) / scores.length;
  return sum(scores.map((score) => (score - mean) ** 2)) / scores.length;
}

/** The largest variance of numbers from 0 to 1 is 0.25: half of them 0, half of them 1. */
const agreementOf = (scoreVariance: number): number => 1 - Math.min(1, scoreVariance / 0.25);

/**
 * Bounds of the agreement when up to `missing` more scores may join. Variance is convex in each score, so it is largest
 * with all of them at 0 or 1; it is smallest with all of them at the mean.
 */
function agreementReach(scores: readonly number[], missing: number): Range {
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

/** Tolerance: sums of the same numbers in another order differ in their last digits. */
const widened = ({ low, high }: Range): Range => ({ low: low - ROUNDING, high: high + ROUNDING });

const least = (verdicts: readonly Verdict[]): number => Math.min(...verdicts.map(({ confidence }) => confidence));

/** The unweighted mean of the scores when all reach the threshold, else 0; the confidence is the lowest. */
const unanimous: Strategy = {
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

/** Weighted mean of the scores; disagreement lowers the confidence. */
const weightedAverage: Strategy = {
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

const STRATEGIES: Readonly<Record<ConsensusRule['strategy'], Strategy>> = {
  weighted_average: weightedAverage,
  majority,
  unanimous,
  best_of_n: bestOfN,
  any_approved: anyApproved,
};

const WEIGHTED: ReadonlySet<ConsensusRule['strategy']> = new Set(['weighted_average', 'best_of_n']);

interface Consensus extends Agreed {
  /** The score reaches the threshold and the confidence `min_agreement_confidence`. */
  readonly valid: boolean;
  /** Variance of the scores; shown to people. */
  readonly variance: number;
  readonly agreement: number;
}

/** The outcome of one or more verdicts. Their order does not matter. */
export function reachConsensus(verdicts: readonly Verdict[], rule: ConsensusRule): Consensus {
  const ordered = inCanonicalOrder(verdicts);
  const agreed = STRATEGIES[rule.strategy].conclude(ordered, rule);
  const score = exact(agreed.score);
  const confidence = exact(agreed.confidence);
  const spread = variance(ordered.map((verdict) => verdict.score));
  const least = rule.min_agreement_confidence ?? 0;
  return {
    score,
    confidence,
    valid: score >= rule.threshold && confidence >= least,
    variance: exact(spread),
    agreement: exact(agreementOf(spread)),
  };
}

/**
 * Whether the outcome is decided: no answer of the missing judges, and no missing answer, can move the score across the
 * threshold or change whether the outcome is valid. `missing` are their weights. It may return false in a decided case, but
 * never true in an open one.
 */
export function isDecided(verdicts: readonly Verdict[], missing: readonly number[], rule: ConsensusRule): boolean {
  if (missing.length === 0) return true;
  if (verdicts.length === 0) return false;
  // A judge of weight 0 changes a mean only when all others drop out, so all of them are awaited then.
  const weightless = [...verdicts.map(({ weight }) => weight), ...missing].includes(0);
  if (weightless && WEIGHTED.has(rule.strategy)) return false;
  const { score, confidence } = STRATEGIES[rule.strategy].reach(inCanonicalOrder(verdicts), missing, rule);
  if (sideOf(score, rule.threshold) === 'below') return true;
  if (sideOf(score, rule.threshold) === 'open') return false;
  return sideOf(confidence, rule.min_agreement_confidence ?? 0) !== 'open';
}

function sideOf({ low, high }: Range, threshold: number): 'at_or_above' | 'below' | 'open' {
  // Outcomes are rounded too, and rounding keeps the order.
  if (exact(low) >= threshold) return 'at_or_above';
  return exact(high) < threshold ? 'below' : 'open';
}

/** A canonical order, so that sums do not depend on the order of the answers. */
const inCanonicalOrder = (verdicts: readonly Verdict[]): Verdict[] =>
  [...verdicts].sort(
    (one, other) => other.score - one.score || other.confidence - one.confidence || other.weight - one.weight,
  );

const DECIMALS = 1e12;

/** Removes the noise of binary fractions: three judges at 0.7 agree on 0.7, not on 0.6999999999999998. */
const exact = (figure: number): number => Math.min(1, Math.max(0, Math.round(figure * DECIMALS) / DECIMALS));

/** The parts of a judge's answer that the consensus uses. Scores and confidences are 0 to 1. */
export interface Verdict {
  readonly score: number;
  readonly confidence: number;
  readonly weight: number;
}

/** Inclusive bounds. */
interface Range {
  readonly low: number;
  readonly high: number;
}

interface Agreed {
  readonly score: number;
  readonly confidence: number;
}

/**
 * How one or more verdicts become one (W10, W11). They come in canonical order, so that the result does not depend on the order
 * of the answers.
 */
interface Strategy {
  conclude(verdicts: readonly Verdict[], rule: ConsensusRule): Agreed;
  /**
   * Bounds of every score and confidence that can still result when the missing judges, given by their weights, answer
   * anything or drop out. They may be wider than necessary, never narrower.
   */
  reach(
    verdicts: readonly Verdict[],
    missing: readonly number[],
    rule: ConsensusRule,
  ): { readonly score: Range; readonly confidence: Range };
}

const ANYTHING: Range = { low: 0, high: 1 };

const passes = ({ score }: Verdict, { threshold }: ConsensusRule): boolean => score >= threshold;
