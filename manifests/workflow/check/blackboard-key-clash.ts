import { builtInCommand } from './built-in.ts';
import { quoted, type Rule, statePath } from './rule.ts';

export const blackboardKeyClash: Rule = {
  id: 'blackboard_key_clash',
  cure: 'Take another name: the output of a state is written under its name, over what is there.',
  *check({ manifest, flow }) {
    for (const key of Object.keys(manifest.spec.context))
      if (flow.states.has(key))
        yield { path: ['spec', 'context', key], message: `the output of state ${quoted(key)} replaces this constant` };
    for (const [name, state] of flow.states) {
      if (state.kind === 'Subworkflow' && state.result_key !== undefined && flow.states.has(state.result_key))
        yield {
          path: statePath(name, 'result_key'),
          message: `${quoted(state.result_key)} is the name of a state, whose output goes under the same key`,
        };
      if (state.kind !== 'System' || builtInCommand(state) !== 'update_blackboard') continue;
      for (const key of Object.keys(state.env))
        if (flow.states.has(key))
          yield {
            path: statePath(name, 'env', key),
            message: `${quoted(key)} is the name of a state, whose output goes under the same key`,
          };
    }
  },
};
