import type { StateSpec } from '../schema.ts';
import { builtInCommand } from './built-in.ts';
import { type Hit, type Rule, statePath } from './rule.ts';

/** Defaults of spec 3: who leaves them alone has said nothing about them. */
const CONTAINER_DEFAULT_MS = 300_000;
const JUDGE_DEFAULT_SECONDS = 60;
/** Nothing runs longer, whatever is written: actors/workflow/steps/container.ts and system.ts. */
const LONGEST_MS = 24 * 3_600_000;
const LONGEST = { cure: 'Write 24h at most.' };

export const timeoutCutShort: Rule = {
  id: 'timeout_cut_short',
  cure: 'Make the timeout of the state longer (300s when it has none), or the inner one shorter.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      yield* beyondTheLongest(name, state);
      const limitMs = state.timeout_ms;
      if (limitMs === null) continue;
      const message = `the state's timeout of ${limitMs / 1_000}s ends it first`;
      const isCut = (ms: number): boolean => ms !== CONTAINER_DEFAULT_MS && ms <= LONGEST_MS && ms > limitMs;
      if (state.kind === 'ContainerRun' && isCut(state.resources.timeout_ms))
        yield { path: statePath(name, 'resources', 'timeout'), message };
      if (state.kind === 'ParallelContainerRun')
        for (const [index, { resources }] of state.steps.entries())
          if (isCut(resources.timeout_ms))
            yield { path: statePath(name, 'steps', index, 'resources', 'timeout'), message };
      if (state.kind === 'ParallelAgents')
        for (const [index, { timeout_seconds: seconds }] of state.agents.entries())
          if (seconds !== JUDGE_DEFAULT_SECONDS && seconds * 1_000 > limitMs)
            yield { path: statePath(name, 'agents', index, 'timeout_seconds'), message };
    }
  },
};

function* beyondTheLongest(name: string, state: StateSpec): Iterable<Hit> {
  const ofContainer = { message: 'a container is ended after 24h', ...LONGEST };
  if (state.kind === 'System' && builtInCommand(state) === null && (state.timeout_ms ?? 0) > LONGEST_MS)
    yield { path: statePath(name, 'timeout'), message: 'a command is ended after 24h', ...LONGEST };
  if (state.kind === 'ContainerRun' && state.resources.timeout_ms > LONGEST_MS)
    yield { path: statePath(name, 'resources', 'timeout'), ...ofContainer };
  if (state.kind === 'ParallelContainerRun')
    for (const [index, { resources }] of state.steps.entries())
      if (resources.timeout_ms > LONGEST_MS)
        yield { path: statePath(name, 'steps', index, 'resources', 'timeout'), ...ofContainer };
}
