import { uncoveredOutcomes } from './coverage.ts';
import { type Rule, statePath } from './rule.ts';

/** Annotation that names states, with commas between them, whose failure is meant to fail the run with their own error. */
const MAY_FAIL = 'svc.dev/may-fail';

export const transitionNotGuaranteed: Rule = {
  id: 'transition_not_guaranteed',
  cure: 'Add a last transition without a condition, or one for the missing outcome; else the execution fails there.',
  *check({ flow, manifest }) {
    const mayFail = new Set((manifest.metadata.annotations[MAY_FAIL] ?? '').split(',').map((name) => name.trim()));
    for (const [name, state] of flow.states) {
      const gaps = uncoveredOutcomes(state, { mayFail: mayFail.has(name) });
      if (gaps.length > 0)
        yield {
          path: statePath(name, 'transitions'),
          message: `no transition is sure to match when ${gaps.join(', or when ')}`,
        };
    }
  },
};
