import type { StateSpec } from '../schema.ts';
import { type ConditionParameter, READS, type Transition } from '../transition.ts';
import { builtInCommand } from './built-in.ts';
import { type Rule, statePath } from './rule.ts';

const PARAMETERS: readonly ConditionParameter[] = ['threshold', 'agreement', 'value', 'expression', 'min', 'max'];

export const fieldWithoutEffect: Rule = {
  id: 'field_without_effect',
  cure: 'Delete the field, or change what it belongs to.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      for (const { field, message } of idleFields(state)) yield { path: statePath(name, field), message };
      for (const [index, transition] of state.transitions.entries())
        for (const parameter of idleParameters(transition))
          yield {
            path: statePath(name, 'transitions', index, parameter),
            message: `the condition ${transition.condition} does not read ${parameter}`,
          };
    }
  },
};

function idleParameters(transition: Transition): readonly ConditionParameter[] {
  const read = READS.get(transition.condition) ?? [];
  return PARAMETERS.filter((parameter) => transition[parameter] !== undefined && !read.includes(parameter));
}

function idleFields(state: StateSpec): { readonly field: string; readonly message: string }[] {
  const found: { field: string; message: string }[] = [];
  const mounts = state.kind !== 'Agent' && state.kind !== 'ContainerRun' && (state.volumes?.length ?? 0) > 0;
  if (mounts)
    found.push({ field: 'volumes', message: `mounts are for Agent states; a ${state.kind} state ignores them` });
  if (state.kind === 'Human' && state.default_response !== undefined && state.timeout_ms === null)
    found.push({ field: 'default_response', message: 'without timeout the default response is never given' });
  if (state.kind === 'Subworkflow' && state.mode === 'fire_and_forget' && state.result_key !== undefined)
    found.push({ field: 'result_key', message: 'fire_and_forget has no result to store' });
  const command = builtInCommand(state);
  if (state.kind === 'System' && command !== null && command !== 'finalize' && Object.keys(state.env).length === 0)
    found.push({ field: 'command', message: `${command} merges the env map, and there is none` });
  return found;
}
