import { stringify } from 'yaml';

/** A document as plain data, to be changed and written. */
export type Doc = { [key: string]: unknown };

export const END = { kind: 'System', command: 'finalize', transitions: [] };
const done = [{ target: 'end' }];

/** The smallest state of each kind without a finding. */
export const STATES = {
  Agent: { kind: 'Agent', agent: 'writer', transitions: done },
  System: { kind: 'System', command: 'make', transitions: done },
  Human: { kind: 'Human', prompt: 'Release?', timeout: '1h', transitions: done },
  ParallelAgents: {
    kind: 'ParallelAgents',
    agents: [{ agent: 'judge-a' }, { agent: 'judge-b' }],
    consensus: { strategy: 'weighted_average' },
    transitions: done,
  },
  ContainerRun: { kind: 'ContainerRun', image: 'alpine:3', command: ['true'], transitions: done },
  ParallelContainerRun: {
    kind: 'ParallelContainerRun',
    steps: [{ name: 'lint', image: 'alpine:3', command: ['true'] }],
    transitions: done,
  },
  Subworkflow: { kind: 'Subworkflow', workflow_id: 'child', transitions: done },
} as const;
export type Kind = keyof typeof STATES;

/** A workflow of the given states and `end`; the first is the initial one. */
export function workflowDoc(states: Doc, spec: Doc = {}, metadata: Doc = {}): Doc {
  const all = { ...states, end: states.end ?? END };
  return {
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'flow', version: '1.0.0', ...metadata },
    spec: { initial_state: Object.keys(all)[0], ...spec, states: all },
  };
}

export const workflowText = (states: Doc, spec: Doc = {}, metadata: Doc = {}): string =>
  stringify(workflowDoc(states, spec, metadata), { aliasDuplicateObjects: false });

/** A deep copy with the value at `path` (dots; numbers are indexes) set, or deleted when it is undefined. */
export function withValue(doc: Doc, path: string, value: unknown): Doc {
  const copy: Doc = structuredClone(doc);
  const parts = path.split('.');
  const last = parts.pop() ?? '';
  let at: Doc = copy;
  for (const [index, part] of parts.entries()) {
    const next: unknown = at[part];
    if (typeof next === 'object' && next !== null) at = Object(next);
    else {
      const made: Doc = /^\d+$/.test(parts[index + 1] ?? last) ? Object([]) : {};
      at[part] = made;
      at = made;
    }
  }
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

/** The value at `path`; undefined when it is not there. */
export function valueAt(doc: unknown, path: string): unknown {
  let at: unknown = doc;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = Object.entries(at).find(([key]) => key === part)?.[1];
  }
  return at;
}
