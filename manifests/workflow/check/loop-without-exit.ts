import { endsExecution } from './built-in.ts';
import { quoted, type Rule, statePath } from './rule.ts';

const MAX_NAMED = 8;

export const loopWithoutExit: Rule = {
  id: 'loop_without_exit',
  cure: 'Add a transition that leaves the loop; after 1,000 transitions the execution fails.',
  *check({ flow }) {
    const position = new Map([...flow.states.keys()].map((name, index) => [name, index]));
    for (const loop of flow.loops) {
      const members = new Set(loop);
      const leaves = loop.some((name) => flow.successors(name).some((target) => !members.has(target)));
      const ends = loop.some((name) => {
        const state = flow.states.get(name);
        return state !== undefined && endsExecution(state);
      });
      if (leaves || ends) continue;
      const ordered = [...loop].sort((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0));
      const named = ordered.slice(0, MAX_NAMED).map(quoted).join(', ');
      const [first = ''] = ordered;
      yield {
        path: statePath(first, 'transitions'),
        message: `once here the execution never ends: no transition leaves the loop of ${named}${loop.length > MAX_NAMED ? ', …' : ''}`,
      };
    }
  },
};
