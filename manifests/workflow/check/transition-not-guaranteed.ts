import { uncoveredOutcomes } from './coverage.ts';
import { type Rule, statePath } from './rule.ts';

export const transitionNotGuaranteed: Rule = {
  id: 'transition_not_guaranteed',
  cure: 'Add a last transition without a condition, or one for the missing outcome; else the execution fails there.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      const gaps = uncoveredOutcomes(state);
      if (gaps.length > 0)
        yield {
          path: statePath(name, 'transitions'),
          message: `no transition is sure to match when ${gaps.join(', or when ')}`,
        };
    }
  },
};
