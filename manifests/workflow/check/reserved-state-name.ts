import { FUNCTIONS } from '../../template/functions.ts';
import { quoted, type Rule, statePath } from './rule.ts';
import { RESERVED } from './scope-shape.ts';

const BLOCKS = new Set(['if', 'unless', 'each', 'with', 'else', 'this', 'true', 'false', 'null', 'undefined']);

export const reservedStateName: Rule = {
  id: 'reserved_state_name',
  cure: 'Take another name for the state.',
  *check({ flow }) {
    for (const name of flow.states.keys()) {
      const what = RESERVED.has(name)
        ? 'a template variable'
        : FUNCTIONS.has(name)
          ? 'a helper of templates'
          : BLOCKS.has(name)
            ? 'a word of templates'
            : null;
      if (what !== null)
        yield { path: statePath(name), message: `${quoted(name)} is ${what}, so templates cannot name this state` };
    }
  },
};
