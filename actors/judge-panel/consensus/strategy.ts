import type { ConsensusRule } from '../messages.ts';

/** What counts of one judge's answer. Scores and confidences are 0..1. */
export interface Verdict {
  readonly score: number;
  readonly confidence: number;
  readonly weight: number;
}

/** Inclusive bounds. */
export interface Range {
  readonly low: number;
  readonly high: number;
}

export interface Agreed {
  readonly score: number;
  readonly confidence: number;
}

/**
 * How verdicts become one (spec 3, ParallelAgents; original-facts 6.3; decided.md "Consensus"). Verdicts come in
 * canonical order, at least one, so that nothing depends on who answered first.
 */
export interface Strategy {
  conclude(verdicts: readonly Verdict[], rule: ConsensusRule): Agreed;
  /**
   * Bounds of every score and confidence that can still come out when any of the missing judges, known by their
   * weights, answer anything or drop out. They may be wider than what is possible, never narrower.
   */
  reach(
    verdicts: readonly Verdict[],
    missing: readonly number[],
    rule: ConsensusRule,
  ): { readonly score: Range; readonly confidence: Range };
}

export const ANYTHING: Range = { low: 0, high: 1 };

export const passes = ({ score }: Verdict, { threshold }: ConsensusRule): boolean => score >= threshold;
