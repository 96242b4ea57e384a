import { builtInCommand } from './built-in.ts';
import { isUnconditional } from './live-transitions.ts';
import { type Rule, statePath } from './rule.ts';

export const transitionNeverEvaluated: Rule = {
  id: 'transition_never_evaluated',
  cure: 'Transitions are tried from top to bottom: put the fallback last, and give each condition once.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      const seen = new Map<string, number>();
      const last = state.transitions.findIndex(isUnconditional);
      for (const [index, transition] of state.transitions.entries()) {
        const path = statePath(name, 'transitions', index);
        const { target: _target, feedback: _feedback, ...condition } = transition;
        const key = JSON.stringify(condition);
        const earlier = seen.get(key);
        if (builtInCommand(state) === 'finalize')
          yield {
            path,
            message: 'finalize completes the execution; this transition is never taken',
            cure: 'Write `transitions: []`.',
          };
        else if (last !== -1 && index > last)
          yield { path, message: `transition ${last} before it has no condition and always matches` };
        else if (earlier !== undefined)
          yield { path, message: `transition ${earlier} before it has the same condition` };
        else seen.set(key, index);
      }
    }
  },
};
