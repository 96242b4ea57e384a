import type { StateSpec } from '../schema.ts';
import { quoted, type Rule, statePath } from './rule.ts';

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
