import type { Transition } from '../transition.ts';
import { type Rule, statePath } from './rule.ts';

export const conditionNeverTrue: Rule = {
  id: 'condition_never_true',
  cure: 'Scores lie from 0.0 to 1.0, and above and below are strict; exit codes are whole numbers.',
  *check({ flow }) {
    for (const [name, state] of flow.states)
      for (const [index, transition] of state.transitions.entries()) {
        const reason = reasonOf(transition);
        if (reason !== null) yield { path: statePath(name, 'transitions', index), message: reason };
      }
  },
};

function reasonOf(transition: Transition): string | null {
  const { condition, threshold, min = 0, max = 1, value = '' } = transition;
  switch (condition) {
    case 'score_above':
    case 'confidence_above':
      return threshold === 1 ? `${condition} 1 never matches: nothing is greater than 1` : null;
    case 'score_below':
      return threshold === 0 ? 'score_below 0 never matches: nothing is less than 0' : null;
    case 'score_between':
      return min > 1 || max < 0 ? `score_between ${min} and ${max} lies outside of 0 to 1` : null;
    case 'exit_code':
      return String(Number.parseInt(value, 10)) === value
        ? null
        : 'exit_code never matches: its value is no whole number';
    default:
      return null;
  }
}
