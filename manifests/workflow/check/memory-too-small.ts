import { type Rule, statePath } from './rule.ts';

/** Docker refuses less. */
const LEAST_BYTES = 6 * 1_024 ** 2;

export const memoryTooSmall: Rule = {
  id: 'memory_too_small',
  cure: 'Write at least 6Mi; a plain number is bytes.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      const containers =
        state.kind === 'ContainerRun'
          ? [{ resources: state.resources, path: [] }]
          : state.kind === 'ParallelContainerRun'
            ? state.steps.map(({ resources }, index) => ({ resources, path: ['steps', index] }))
            : [];
      for (const { resources, path } of containers)
        if (resources.memory_bytes !== undefined && resources.memory_bytes < LEAST_BYTES)
          yield {
            path: statePath(name, ...path, 'resources', 'memory'),
            message: `no container engine starts with ${resources.memory_bytes} bytes of memory`,
          };
    }
  },
};
