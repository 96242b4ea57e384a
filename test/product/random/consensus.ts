import { type JsonMap, numberOr } from './manifest.ts';

export interface Judged {
  readonly score: number;
  readonly confidence: number;
  readonly weight: number;
}

interface Verdict {
  readonly score: number;
  readonly confidence: number;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** The consensus of a panel, after "Strategies" of the document and the formulas that were decided. */
export function consensusOf(rule: JsonMap, judged: readonly Judged[]): Verdict {
  const threshold = numberOr(rule.threshold, 0.7);
  const passed = judged.filter(({ score }) => score >= threshold);
  switch (rule.strategy) {
    case 'weighted_average':
      return weighted(rule, judged);
    case 'majority': {
      const failed = judged.length - passed.length;
      const score = passed.length === failed ? 0.5 : passed.length > failed ? 1 : 0;
      return { score, confidence: Math.abs(passed.length - failed) / judged.length };
    }
    case 'unanimous': {
      const mean = sum(judged.map(({ score }) => score)) / judged.length;
      const confidence = Math.min(...judged.map((judge) => judge.confidence));
      return { score: passed.length === judged.length ? mean : 0, confidence };
    }
    case 'best_of_n': {
      const ranked = [...judged].sort((one, other) => other.score * other.confidence - one.score * one.confidence);
      return weighted(rule, ranked.slice(0, numberOr(rule.n, ranked.length)));
    }
    default:
      throw new Error(`no strategy ${String(rule.strategy)}`);
  }
}

function weighted(rule: JsonMap, judged: readonly Judged[]): Verdict {
  const factors = rule.confidence_weighting;
  const given = typeof factors === 'object' && factors !== null && 'agreement_factor' in factors ? factors : {};
  const agreementFactor = numberOr(given.agreement_factor, 0.7);
  const weights = sum(judged.map(({ weight }) => weight));
  const mean = sum(judged.map(({ score }) => score)) / judged.length;
  const variance = sum(judged.map(({ score }) => (score - mean) ** 2)) / judged.length;
  const agreement = 1 - Math.min(1, variance / 0.25);
  const own = sum(judged.map(({ confidence, weight }) => confidence * weight)) / weights;
  return {
    score: sum(judged.map(({ score, weight }) => score * weight)) / weights,
    confidence: agreementFactor * agreement + (1 - agreementFactor) * own,
  };
}
