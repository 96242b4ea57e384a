import { passes, type Range, type Strategy } from './strategy.ts';

/** Each judge votes: at or above the threshold is a pass. Weights do not count; a tie scores 0.5. */
export const majority: Strategy = {
  conclude(verdicts, rule) {
    const passed = verdicts.filter((verdict) => passes(verdict, rule)).length;
    return outcome(passed, verdicts.length - passed);
  },

  /** Exact: every possible number of further votes for and against is tried. */
  reach(verdicts, missing, rule) {
    const passed = verdicts.filter((verdict) => passes(verdict, rule)).length;
    const failed = verdicts.length - passed;
    // Nobody can vote against a threshold of 0.
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

/** Confidence is the margin of the vote (decided.md). */
function outcome(passed: number, failed: number) {
  const score = passed > failed ? 1 : passed < failed ? 0 : 0.5;
  return { score, confidence: Math.abs(passed - failed) / (passed + failed) };
}

const rangeOf = (numbers: readonly number[]): Range => ({ low: Math.min(...numbers), high: Math.max(...numbers) });
