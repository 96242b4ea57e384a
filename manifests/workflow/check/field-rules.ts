import type { StateSpec } from '../schema.ts';
import { type ConditionParameter, READS, type Transition } from '../transition.ts';
import type { Subject } from './flow.ts';
import { quoted, type Rule, statePath } from './rule.ts';
import { builtInCommand } from './texts.ts';

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
  if (
    state.kind === 'System' &&
    command !== null &&
    command.startsWith('update_') &&
    Object.keys(state.env).length === 0
  )
    found.push({ field: 'command', message: `${command} merges the env map, which is empty` });
  return found;
}

export const inputInShellCommand: Rule = {
  id: 'input_in_shell_command',
  cure: 'Pass it in `env` and write "$NAME" in the command: the shell then reads it as one argument, never as code.',
  *check(subject) {
    for (const { path, use, references } of subject.texts) {
      if (use !== 'shell') continue;
      const foreign = references.find((reference) => isForeign(reference.path, subject));
      if (foreign !== undefined)
        yield {
          path,
          message: `{{${foreign.path.join('.').slice(0, 80)}}} is text from outside, and a shell reads it as code`,
        };
    }
  },
};

/** Text that callers, people or models write, not the author of the workflow. */
function isForeign([root = '', key = '']: readonly string[], { flow }: Subject): boolean {
  if (root === 'input' || root === 'intent' || root === 'human') return true;
  if (root === 'state') return key === 'feedback';
  if (root === 'blackboard') return key === 'stimulus';
  const kind = flow.states.get(root)?.kind;
  if (kind === 'Human' || kind === 'Agent') return key === 'output' || key === 'feedback';
  return kind === 'ParallelAgents' && (key === 'agents' || key === 'individual_results');
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const mountPathTwice: Rule = {
  id: 'mount_path_twice',
  cure: 'Give each mount a path of its own.',
  *check({ flow }) {
    for (const [name, state] of flow.states)
      for (const { mounts, path } of mountsOf(state)) {
        const seen = new Set<string>();
        for (const [index, { mount_path: mountPath }] of mounts.entries()) {
          const plain = mountPath.replace(/\/+$/, '');
          if (seen.has(plain))
            yield {
              path: statePath(name, ...path, 'volumes', index, 'mount_path'),
              message: `another volume is mounted at ${quoted(mountPath)} already`,
            };
          seen.add(plain);
        }
      }
  },
};

export const mountPathOutside: Rule = {
  id: 'mount_path_outside',
  severity: 'error',
  cure: 'Mount it at /workspace or below, where the tools and the commands of an agent see it in every isolation.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      if (state.kind !== 'Agent') continue;
      for (const [index, { mount_path: mountPath }] of state.volumes.entries())
        if (!/^\/+workspace(\/|$)/.test(mountPath))
          yield {
            path: statePath(name, 'volumes', index, 'mount_path'),
            message: `${quoted(mountPath)} is outside of /workspace, so no command of the agent would run`,
          };
    }
  },
};

export const reservedVolumeName: Rule = {
  id: 'reserved_volume_name',
  cure: 'Choose another name: workspace is the workspace of the run.',
  *check({ manifest }) {
    for (const [index, { name }] of manifest.spec.storage.shared_volumes.entries())
      if (name === 'workspace')
        yield {
          path: ['spec', 'storage', 'shared_volumes', index, 'name'],
          message: 'containers that mount "workspace" get this volume, other states the workspace of the run',
        };
  },
};

export const unknownMountVolume: Rule = {
  id: 'unknown_mount_volume',
  cure: 'Write workspace, the name of a shared volume, a volume id, or {{workflow.storage.shared_volumes.NAME}}.',
  *check({ flow, manifest }) {
    const names = new Set(['workspace', ...manifest.spec.storage.shared_volumes.map(({ name }) => name)]);
    for (const [name, state] of flow.states) {
      if (state.kind !== 'Agent') continue;
      for (const [index, { volume }] of state.volumes.entries())
        if (!volume.includes('{{') && !UUID.test(volume) && !names.has(volume))
          yield {
            path: statePath(name, 'volumes', index, 'volume'),
            message: `the workflow has no volume ${quoted(volume)}`,
          };
    }
  },
};

interface Mounts {
  readonly mounts: readonly { readonly mount_path: string }[];
  readonly path: readonly PropertyKey[];
}

function mountsOf(state: StateSpec): Mounts[] {
  if (state.kind === 'Agent' || state.kind === 'ContainerRun') return [{ mounts: state.volumes, path: [] }];
  if (state.kind !== 'ParallelContainerRun') return [];
  return state.steps.map(({ volumes }, index) => ({ mounts: volumes, path: ['steps', index] }));
}

export const templateSyntax: Rule = {
  id: 'template_syntax',
  severity: 'error',
  cure: 'Write a Handlebars template; put a backslash before braces that are meant as they are: `\\{{`.',
  *check({ texts }) {
    for (const { path, use, fault } of texts)
      if (fault !== null && use !== 'expression') yield { path, message: `the template cannot be rendered: ${fault}` };
  },
};

export const expressionSyntax: Rule = {
  id: 'expression_syntax',
  severity: 'error',
  cure: 'Compare values with <, >, <=, >=, ==, != and join with &&, || and !; texts stand in quotes.',
  *check({ texts }) {
    for (const { path, use, fault } of texts)
      if (fault !== null && use === 'expression')
        yield { path, message: `the expression cannot be evaluated: ${fault}` };
  },
};
