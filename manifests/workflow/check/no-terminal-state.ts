import type { Rule } from './rule.ts';

export const noTerminalState: Rule = {
  id: 'no_terminal_state',
  cure: 'Give the workflow a state with `transitions: []`: reaching it completes the execution.',
  *check({ flow }) {
    if (flow.ending.size === 0)
      yield { path: ['spec', 'states'], message: 'no state ends the execution: none has `transitions: []`' };
  },
};
