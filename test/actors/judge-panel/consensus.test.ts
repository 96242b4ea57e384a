import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { reachConsensus, type Verdict } from '../../../actors/judge-panel/consensus/consensus.ts';
import type { ConsensusRule } from '../../../actors/judge-panel/messages.ts';
import { ruleOf, verdictsOf } from './rules.ts';

interface Row {
  readonly what: string;
  readonly rule: ConsensusRule;
  readonly verdicts: readonly Verdict[];
  readonly score: number;
  readonly confidence: number;
  readonly valid: boolean;
}

const ROWS: readonly Row[] = [
  {
    // score (0.9 + 0.8 + 0.7) / 3 = 0.8
    // mean 0.8, variance (0.01 + 0 + 0.01) / 3 = 0.02 / 3; agreement 1 - 0.02 / 3 / 0.25 = 1 - 0.08 / 3
    // confidence 0.7 * (1 - 0.08 / 3) + 0.3 * (0.9 + 0.6 + 0.9) / 3 = 0.7 - 0.056 / 3 + 0.24
    what: 'weighted_average of three equal weights',
    rule: ruleOf('weighted_average'),
    verdicts: verdictsOf([0.9, 0.9], [0.8, 0.6], [0.7, 0.9]),
    score: 0.8,
    confidence: 0.94 - 0.056 / 3,
    valid: true,
  },
  {
    // score (3 * 1 + 1 * 0.2) / 4 = 0.8; the variance knows no weights: mean 0.6, 0.4² = 0.16; agreement 1 - 0.64 = 0.36
    // self (3 * 0.5 + 1 * 0.9) / 4 = 0.6; confidence 0.7 * 0.36 + 0.3 * 0.6 = 0.252 + 0.18
    what: 'weighted_average with weights 3 and 1: weights move score and self confidence, not the variance',
    rule: ruleOf('weighted_average'),
    verdicts: verdictsOf([1, 0.5, 3], [0.2, 0.9, 1]),
    score: 0.8,
    confidence: 0.432,
    valid: true,
  },
  {
    // the second has no weight: score 0.9, self 0.8; mean 0.6, variance 0.3² = 0.09, agreement 1 - 0.36 = 0.64
    what: 'weighted_average with a judge of weight 0: it counts for the agreement only',
    rule: ruleOf('weighted_average'),
    verdicts: verdictsOf([0.9, 0.8, 2], [0.3, 0.1, 0]),
    score: 0.9,
    confidence: 0.7 * 0.64 + 0.3 * 0.8,
    valid: true,
  },
  {
    // score 0.8, self 0.6; variance 0.01, agreement 0.96
    what: 'weighted_average of weights that are all 0 is the plain mean',
    rule: ruleOf('weighted_average'),
    verdicts: verdictsOf([0.9, 0.8, 0], [0.7, 0.4, 0]),
    score: 0.8,
    confidence: 0.7 * 0.96 + 0.3 * 0.6,
    valid: true,
  },
  {
    // score 0.5; variance 0.5² = 0.25, agreement 0; confidence 0.7 * 0 + 0.3 * 1
    what: 'weighted_average of the two extremes: no agreement at all',
    rule: ruleOf('weighted_average'),
    verdicts: verdictsOf([0, 1], [1, 1]),
    score: 0.5,
    confidence: 0.3,
    valid: false,
  },
  {
    // agreement 1; confidence 0.7 + 0.3 * 0.5
    what: 'weighted_average of one judge is that judge, in full agreement',
    rule: ruleOf('weighted_average'),
    verdicts: verdictsOf([0.65, 0.5, 7]),
    score: 0.65,
    confidence: 0.85,
    valid: false,
  },
  {
    // 0.7 + 0.7 + 0.7 is 2.0999999999999996 in binary, and a third of it less than 0.7
    what: 'weighted_average of equal scores at the threshold is at the threshold, in spite of binary fractions',
    rule: ruleOf('weighted_average'),
    verdicts: verdictsOf([0.7, 1], [0.7, 1], [0.7, 1]),
    score: 0.7,
    confidence: 1,
    valid: true,
  },
  {
    // score 0.6; variance 0.01, agreement 0.96; confidence 0.2 * 0.96 + 0.8 * 0.5
    what: 'weighted_average with factors of its own',
    rule: ruleOf('weighted_average', {
      threshold: 0.6,
      confidence_weighting: { agreement_factor: 0.2, self_confidence_factor: 0.8 },
    }),
    verdicts: verdictsOf([0.5, 0.4], [0.7, 0.6]),
    score: 0.6,
    confidence: 0.592,
    valid: true,
  },
  {
    // score 0.9, variance 0.01, agreement 0.96; confidence 0.672 + 0.3 * 0.5 = 0.822
    what: 'a score over the threshold with too little confidence is not valid',
    rule: ruleOf('weighted_average', { min_agreement_confidence: 0.83 }),
    verdicts: verdictsOf([0.8, 0.5], [1, 0.5]),
    score: 0.9,
    confidence: 0.822,
    valid: false,
  },
  {
    what: 'confidence at min_agreement_confidence is enough',
    rule: ruleOf('weighted_average', { min_agreement_confidence: 0.822 }),
    verdicts: verdictsOf([0.8, 0.5], [1, 0.5]),
    score: 0.9,
    confidence: 0.822,
    valid: true,
  },
  {
    // 2 pass, 1 fails; margin |2 - 1| / 3; weights and self confidence do not count
    what: 'majority of two against one heavy judge',
    rule: ruleOf('majority'),
    verdicts: verdictsOf([0.7, 0.1], [0.9, 0.1], [0, 1, 100]),
    score: 1,
    confidence: 1 / 3,
    valid: true,
  },
  {
    // 1 passes, 4 fail; |1 - 4| / 5
    what: 'majority against',
    rule: ruleOf('majority'),
    verdicts: verdictsOf([1, 1], [0.69, 1], [0.6, 1], [0.1, 1], [0, 1]),
    score: 0,
    confidence: 0.6,
    valid: false,
  },
  {
    // |1 - 1| / 2
    what: 'a tie scores 0.5 without any confidence',
    rule: ruleOf('majority'),
    verdicts: verdictsOf([1, 1], [0, 1]),
    score: 0.5,
    confidence: 0,
    valid: false,
  },
  {
    // |1 - 0| / 1
    what: 'majority of one judge',
    rule: ruleOf('majority'),
    verdicts: verdictsOf([0.7, 0.2]),
    score: 1,
    confidence: 1,
    valid: true,
  },
  {
    // mean (0.7 + 0.9 + 0.8) / 3 = 0.8, unweighted; least confidence 0.4
    what: 'unanimous: the mean, as sure as the least sure judge',
    rule: ruleOf('unanimous'),
    verdicts: verdictsOf([0.7, 0.9, 10], [0.9, 0.4], [0.8, 0.8]),
    score: 0.8,
    confidence: 0.4,
    valid: true,
  },
  {
    what: 'unanimous: one judge just below the threshold and the score is 0',
    rule: ruleOf('unanimous'),
    verdicts: verdictsOf([1, 0.9], [0.6999, 0.8], [1, 1]),
    score: 0,
    confidence: 0.8,
    valid: false,
  },
  {
    what: 'unanimous at the threshold passes',
    rule: ruleOf('unanimous'),
    verdicts: verdictsOf([0.7, 1], [0.7, 0.9], [0.7, 0.8]),
    score: 0.7,
    confidence: 0.8,
    valid: true,
  },
  {
    // products 0.9 * 0.5 = 0.45, 0.8 * 0.9 = 0.72, 0.6 * 1 = 0.6, 1 * 0.1 = 0.1: the best two are 0.8 and 0.6
    // score 0.7; variance 0.01, agreement 0.96; self 0.95; confidence 0.672 + 0.285
    what: 'best_of_n ranks by score times confidence and averages the best',
    rule: ruleOf('best_of_n', { n: 2 }),
    verdicts: verdictsOf([0.9, 0.5], [0.8, 0.9], [0.6, 1], [1, 0.1]),
    score: 0.7,
    confidence: 0.957,
    valid: true,
  },
  {
    // products 0.9, 0.4, 0.2: of the best two (3 * 0.9 + 1 * 0.5) / 4 = 0.8
    // variance: mean 0.7, 0.2² = 0.04, agreement 0.84; self (3 * 1 + 1 * 0.8) / 4 = 0.95; confidence 0.588 + 0.285
    what: 'best_of_n weights the best by their weights',
    rule: ruleOf('best_of_n', { n: 2 }),
    verdicts: verdictsOf([0.9, 1, 3], [0.5, 0.8, 1], [0.2, 1, 50]),
    score: 0.8,
    confidence: 0.873,
    valid: true,
  },
  {
    // as weighted_average of all: score 0.8, confidence 0.94 - 0.056 / 3
    what: 'best_of_n with n beyond the judges takes all',
    rule: ruleOf('best_of_n', { n: 9 }),
    verdicts: verdictsOf([0.9, 0.9], [0.8, 0.6], [0.7, 0.9]),
    score: 0.8,
    confidence: 0.94 - 0.056 / 3,
    valid: true,
  },
  {
    what: 'best_of_n without n takes all',
    rule: ruleOf('best_of_n'),
    verdicts: verdictsOf([0.9, 0.9], [0.8, 0.6], [0.7, 0.9]),
    score: 0.8,
    confidence: 0.94 - 0.056 / 3,
    valid: true,
  },
  {
    // equal products 0.5 * 0.8 and 0.8 * 0.5: the higher score comes first; confidence 0.7 + 0.3 * 0.5
    what: 'best_of_n breaks a tie by the score',
    rule: ruleOf('best_of_n', { n: 1 }),
    verdicts: verdictsOf([0.5, 0.8], [0.8, 0.5]),
    score: 0.8,
    confidence: 0.85,
    valid: true,
  },
  {
    // products 0.35 and 0.6: confidence 0.7 + 0.3 * 1
    what: 'best_of_n with n 1 may exclude the highest score',
    rule: ruleOf('best_of_n', { n: 1 }),
    verdicts: verdictsOf([0.7, 0.5], [0.6, 1]),
    score: 0.6,
    confidence: 1,
    valid: false,
  },
  {
    what: 'any_approved: the best approving judge decides',
    rule: ruleOf('any_approved'),
    verdicts: verdictsOf([0.1, 1], [0.75, 1], [0.9, 0.4], [0, 1]),
    score: 0.9,
    confidence: 0.4,
    valid: true,
  },
  {
    what: 'any_approved: of equal scores the surer judge counts',
    rule: ruleOf('any_approved'),
    verdicts: verdictsOf([0.9, 0.2], [0.9, 0.8], [0.9, 0.5]),
    score: 0.9,
    confidence: 0.8,
    valid: true,
  },
  {
    what: 'any_approved: without a judge at the threshold nothing is approved',
    rule: ruleOf('any_approved'),
    verdicts: verdictsOf([0.69, 0.9], [0.2, 1]),
    score: 0.69,
    confidence: 0.9,
    valid: false,
  },
  {
    what: 'any_approved: one judge at the threshold',
    rule: ruleOf('any_approved'),
    verdicts: verdictsOf([0.7, 0]),
    score: 0.7,
    confidence: 0,
    valid: true,
  },
  ...(['weighted_average', 'unanimous', 'best_of_n', 'any_approved'] as const).map((strategy) => ({
    // 0.7 * 1 + 0.3 * 1, or the least confidence, or the best judge's
    what: `${strategy} of ones is one`,
    rule: ruleOf(strategy, { threshold: 1 }),
    verdicts: verdictsOf([1, 1], [1, 1]),
    score: 1,
    confidence: 1,
    valid: true,
  })),
  ...(['weighted_average', 'unanimous', 'best_of_n', 'any_approved', 'majority'] as const).map((strategy) => ({
    // majority: no one passes, |0 - 2| / 2
    what: `${strategy} of zeros is zero`,
    rule: ruleOf(strategy),
    verdicts: verdictsOf([0, 1], [0, 1]),
    score: 0,
    confidence: 1,
    valid: false,
  })),
];

describe('consensus', () => {
  for (const { what, rule, verdicts, score, confidence, valid } of ROWS) {
    test(what, () => {
      const reached = reachConsensus(verdicts, rule);
      assert.equal(reached.score, score);
      assert.ok(Math.abs(reached.confidence - confidence) < 1e-9, `${reached.confidence} is not ${confidence}`);
      assert.equal(reached.valid, valid);
    });
  }

  test('variance and agreement are shown in a readable form', () => {
    // mean 0.6, (0.3² + 0.3²) / 2 = 0.09; 1 - 0.09 / 0.25
    const reached = reachConsensus(verdictsOf([0.9, 1], [0.3, 1]), ruleOf('majority'));
    assert.equal(reached.variance, 0.09);
    assert.equal(reached.agreement, 0.64);
  });
});
