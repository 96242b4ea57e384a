import type { StateSpec, WorkflowManifest } from '../schema.ts';
import { type Hit, quoted, type Rule, statePath } from './rule.ts';
import { builtInCommand } from './texts.ts';

export const volumeTooLarge: Rule = {
  id: 'volume_too_large',
  severity: 'error',
  cure: 'Ask for less, or have the operator raise spec.storage.max_size_limit_mb.',
  *check({ manifest, known: { storage } }) {
    for (const { size, path } of sizesOf(manifest))
      if (storage !== undefined && size > storage.maxSizeLimitMb)
        yield {
          path,
          message: `this node allows volumes of ${storage.maxSizeLimitMb} MiB at most, so every run would fail`,
        };
  },
};

export const sizeIsMeasured: Rule = {
  id: 'size_is_measured',
  cure: 'Expect a writer beyond the limit to be ended with quota_exceeded, or set spec.storage.local_host.quota: image.',
  *check({ manifest, known: { storage } }) {
    for (const { path } of sizesOf(manifest))
      if (storage?.enforcesSize === false)
        yield { path, message: 'this node measures volumes: a write beyond the limit does not fail with ENOSPC' };
  },
};

function sizesOf({ spec: { storage } }: WorkflowManifest) {
  const { workspace, shared_volumes: shared } = storage;
  const at = (size: number | undefined, ...path: readonly PropertyKey[]) =>
    size === undefined ? [] : [{ size, path: ['spec', 'storage', ...path, 'size_limit_mb'] }];
  return [
    ...at(workspace?.size_limit_mb, 'workspace'),
    ...shared.flatMap(({ size_limit_mb: size }, index) => at(size, 'shared_volumes', index)),
  ];
}

export const approvalWithoutTimeout: Rule = {
  id: 'approval_without_timeout',
  cure: 'Add `timeout`, and `default_response` or an on_failure transition for when it elapses.',
  *check({ flow }) {
    for (const [name, state] of flow.states)
      if (state.kind === 'Human' && state.timeout_ms === null)
        yield { path: statePath(name), message: `state ${quoted(name)} waits for an answer without a time-out` };
  },
};

/** Defaults of the format (W10, W12): a default is not the author's choice, so it is no finding. */
const CONTAINER_DEFAULT_MS = 300_000;

const JUDGE_DEFAULT_SECONDS = 60;

/** Limit of every command and container: actors/workflow/steps/container.ts and system.ts. */
const LONGEST_MS = 24 * 3_600_000;

const LONGEST = { cure: 'Write at most 24h.' };

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
  const ofContainer = { message: 'a container is ended after 24h, whatever its timeout', ...LONGEST };
  if (state.kind === 'System' && builtInCommand(state) === null && (state.timeout_ms ?? 0) > LONGEST_MS)
    yield {
      path: statePath(name, 'timeout'),
      message: 'a command is ended after 24h, whatever its timeout',
      ...LONGEST,
    };
  if (state.kind === 'ContainerRun' && state.resources.timeout_ms > LONGEST_MS)
    yield { path: statePath(name, 'resources', 'timeout'), ...ofContainer };
  if (state.kind === 'ParallelContainerRun')
    for (const [index, { resources }] of state.steps.entries())
      if (resources.timeout_ms > LONGEST_MS)
        yield { path: statePath(name, 'steps', index, 'resources', 'timeout'), ...ofContainer };
}

/** Docker refuses smaller limits. */
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

export const tooFewJudges: Rule = {
  id: 'too_few_judges',
  cure: 'Add judges, or ask for fewer.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      if (state.kind !== 'ParallelAgents') continue;
      const { length } = state.agents;
      const { min_judges_required: least, strategy, n } = state.consensus;
      if (least > length)
        yield {
          path: statePath(name, 'consensus', 'min_judges_required'),
          message: `${least} judges are required and the panel has ${length}, so the state always fails`,
        };
      if (strategy === 'best_of_n' && n !== undefined && n > length)
        yield { path: statePath(name, 'consensus', 'n'), message: `the best ${n} of ${length} judges are all of them` };
      if (state.agents.every(({ weight }) => weight === 0))
        yield {
          path: statePath(name, 'agents'),
          message: 'every judge has weight 0, so all count equally',
          cure: 'Give at least one judge a weight greater than 0.',
        };
    }
  },
};
