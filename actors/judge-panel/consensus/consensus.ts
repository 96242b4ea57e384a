import type { ConsensusRule } from '../messages.ts';
import { anyApproved } from './any-approved.ts';
import { bestOfN } from './best-of-n.ts';
import { majority } from './majority.ts';
import { agreementOf, variance } from './mean.ts';
import type { Agreed, Range, Strategy, Verdict } from './strategy.ts';
import { unanimous } from './unanimous.ts';
import { weightedAverage } from './weighted-average.ts';

export type { Verdict };

const STRATEGIES: Readonly<Record<ConsensusRule['strategy'], Strategy>> = {
  weighted_average: weightedAverage,
  majority,
  unanimous,
  best_of_n: bestOfN,
  any_approved: anyApproved,
};

const WEIGHTED: ReadonlySet<ConsensusRule['strategy']> = new Set(['weighted_average', 'best_of_n']);

export interface Consensus extends Agreed {
  /** The score reaches the threshold and the confidence `min_agreement_confidence`. */
  readonly valid: boolean;
  /** Of the scores that were given, for people. */
  readonly variance: number;
  readonly agreement: number;
}

/** One verdict of at least one. The order of the verdicts does not matter. */
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
 * Whether nothing the missing judges may say, or keep to themselves, can change on which side of the threshold the score
 * ends and whether the outcome is valid. `missing` are their weights. May miss a decided case, never claims an open one.
 */
export function isDecided(verdicts: readonly Verdict[], missing: readonly number[], rule: ConsensusRule): boolean {
  if (missing.length === 0) return true;
  if (verdicts.length === 0) return false;
  // Without weight a judge moves no mean as long as another has some: who drops out decides, so all are heard.
  const weightless = [...verdicts.map(({ weight }) => weight), ...missing].includes(0);
  if (weightless && WEIGHTED.has(rule.strategy)) return false;
  const { score, confidence } = STRATEGIES[rule.strategy].reach(inCanonicalOrder(verdicts), missing, rule);
  if (sideOf(score, rule.threshold) === 'below') return true;
  if (sideOf(score, rule.threshold) === 'open') return false;
  return sideOf(confidence, rule.min_agreement_confidence ?? 0) !== 'open';
}

function sideOf({ low, high }: Range, threshold: number): 'at_or_above' | 'below' | 'open' {
  // Outcomes are rounded as well, and rounding keeps the order.
  if (exact(low) >= threshold) return 'at_or_above';
  return exact(high) < threshold ? 'below' : 'open';
}

/** Sums come out the same whoever answered first, to the last digit. */
const inCanonicalOrder = (verdicts: readonly Verdict[]): Verdict[] =>
  [...verdicts].sort(
    (one, other) => other.score - one.score || other.confidence - one.confidence || other.weight - one.weight,
  );

const DECIMALS = 1e12;

/** Without the noise of binary fractions: three judges who say 0.7 agree on 0.7, not on 0.6999999999999998. */
const exact = (figure: number): number => Math.min(1, Math.max(0, Math.round(figure * DECIMALS) / DECIMALS));
