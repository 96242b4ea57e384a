import { quoted, type Rule, statePath } from './rule.ts';

export const unreachableState: Rule = {
  id: 'unreachable_state',
  cure: 'Let a transition lead to it, or delete it.',
  *check({ flow, manifest }) {
    for (const name of flow.states.keys()) {
      if (!flow.reachable.has(name))
        yield {
          path: statePath(name),
          message: `no way leads from ${quoted(manifest.spec.initial_state)} to state ${quoted(name)}`,
        };
    }
  },
};
