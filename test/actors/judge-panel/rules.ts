import fc from 'fast-check';
import type { Verdict } from '../../../actors/judge-panel/consensus/consensus.ts';
import type { ConsensusRule } from '../../../actors/judge-panel/messages.ts';

export const ruleOf = (strategy: ConsensusRule['strategy'], more: Partial<ConsensusRule> = {}): ConsensusRule => ({
  strategy,
  threshold: 0.7,
  min_judges_required: 1,
  confidence_weighting: { agreement_factor: 0.7, self_confidence_factor: 0.3 },
  early_stop: false,
  ...more,
});

/** `[score, confidence, weight]`; weight 1 unless given. */
export const verdictsOf = (...rows: readonly (readonly [number, number, number?])[]): Verdict[] =>
  rows.map(([score, confidence, weight = 1]) => ({ score, confidence, weight }));

/** Figures that judges give: round ones, the limits, and any between them. */
const fraction = fc.oneof(
  fc.constantFrom(0, 0.3, 0.5, 0.69, 0.7, 0.71, 0.8, 1),
  fc.double({ min: 0, max: 1, noNaN: true }),
);

export const verdict: fc.Arbitrary<Verdict> = fc.record({
  score: fraction,
  confidence: fraction,
  weight: fc.oneof(fc.constant(1), fc.constantFrom(0, 0.5, 2, 10), fc.double({ min: 0.001, max: 1_000, noNaN: true })),
});

export const rule: fc.Arbitrary<ConsensusRule> = fc
  .record({
    strategy: fc.constantFrom('weighted_average', 'majority', 'unanimous', 'best_of_n', 'any_approved'),
    threshold: fraction,
    least: fc.option(fraction, { nil: undefined }),
    n: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
    factor: fraction,
  })
  .map(({ strategy, threshold, least, n, factor }) =>
    ruleOf(strategy, {
      threshold,
      ...(least === undefined ? {} : { min_agreement_confidence: least }),
      ...(n === undefined ? {} : { n }),
      confidence_weighting: { agreement_factor: factor, self_confidence_factor: 1 - factor },
    }),
  );
