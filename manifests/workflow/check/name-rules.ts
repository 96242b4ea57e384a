import { FUNCTIONS } from '../../template/functions.ts';
import { agentsNamedIn, childrenNamedIn } from '../finding.ts';
import type { WorkflowManifest } from '../schema.ts';
import type { Known } from './flow.ts';
import { quoted, type Rule, statePath } from './rule.ts';
import { RESERVED } from './scope-shape.ts';
import { builtInCommand } from './texts.ts';

/** Path segments of the REST API in the place of a workflow's name; a test compares them with its description. */
export const PATH_WORDS: ReadonlySet<string> = new Set(['executions', 'generate', 'search', 'validate']);

export const reservedWorkflowName: Rule = {
  id: 'reserved_workflow_name',
  cure: 'Choose another name for the workflow, or use its UUID over REST.',
  *check({ manifest: { metadata } }) {
    if (PATH_WORDS.has(metadata.name))
      yield {
        path: ['metadata', 'name'],
        message: `/v1/workflows/${metadata.name} is another path of the REST API, so ${quoted(metadata.name)} does not name this workflow there`,
      };
  },
};

const BLOCKS = new Set(['if', 'unless', 'each', 'with', 'else', 'this', 'true', 'false', 'null', 'undefined']);

export const reservedStateName: Rule = {
  id: 'reserved_state_name',
  cure: 'Choose another name for the state.',
  *check({ flow }) {
    for (const name of flow.states.keys()) {
      const what = RESERVED.has(name)
        ? 'a template variable'
        : FUNCTIONS.has(name)
          ? 'a helper of templates'
          : BLOCKS.has(name)
            ? 'a keyword of templates'
            : null;
      if (what !== null)
        yield { path: statePath(name), message: `${quoted(name)} is ${what}, so templates cannot name this state` };
    }
  },
};

export const blackboardKeyClash: Rule = {
  id: 'blackboard_key_clash',
  cure: 'Choose another name: the output of a state is stored under its name and replaces what is there.',
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

export const unknownAgent: Rule = {
  id: 'unknown_agent',
  cure: 'Deploy the agent before the workflow runs, or correct the name.',
  *check({ manifest, known }) {
    const { agents } = known;
    if (agents === undefined) return;
    for (const { name, path } of agentsNamedIn(manifest))
      if (!agents(name)) yield { path, message: `no agent ${quoted(name)} is deployed` };
  },
};

/** Depth of children (W14). */
const MAX_CHILD_DEPTH = 10;

export const unknownChildWorkflow: Rule = {
  id: 'unknown_child_workflow',
  cure: 'Deploy the child before the workflow runs, or correct the name; without it the state fails.',
  *check({ manifest, known }) {
    for (const { name, path } of childrenNamedIn(manifest))
      if (known.workflows !== undefined && find(name, manifest, known) === undefined)
        yield { path, message: `no workflow ${quoted(name)} is deployed` };
  },
};

export const childCycle: Rule = {
  id: 'child_cycle',
  cure: 'Break the cycle: a workflow among its own ancestors fails with SubworkflowCycleDetected.',
  *check({ manifest, known }) {
    for (const { name, path } of childrenNamedIn(manifest)) {
      const way = wayBack(name, manifest, known);
      if (way !== null) yield { path, message: `the workflow starts itself: ${way.map(quoted).join(' → ')}` };
    }
  },
};

export const childDepth: Rule = {
  id: 'child_depth',
  cure: 'Make the chain of children shorter; beyond depth 10 a child fails with SubworkflowDepthExceeded.',
  *check({ manifest, known }) {
    const depths = new Map<string, number>([[manifest.metadata.name, 0]]);
    for (const { name, path } of childrenNamedIn(manifest)) {
      const child = find(name, manifest, known);
      if (child === undefined) continue;
      const depth = depthOf(child, manifest, known, depths, 0);
      if (depth > MAX_CHILD_DEPTH)
        yield { path, message: `the children of ${quoted(name)} reach a depth of more than ${MAX_CHILD_DEPTH}` };
    }
  },
};

/** The checked manifest is found under its own name, whatever is deployed. */
function find(name: string, manifest: WorkflowManifest, known: Known): WorkflowManifest | undefined {
  return name === manifest.metadata.name ? manifest : known.workflows?.(name);
}

/** The names on the path from the manifest over this child back to the manifest; null when there is none. */
function wayBack(first: string, manifest: WorkflowManifest, known: Known): readonly string[] | null {
  const own = manifest.metadata.name;
  const seen = new Set<string>();
  const ways: (readonly string[])[] = [[own, first]];
  for (const way of ways) {
    const child = find(way.at(-1) ?? '', manifest, known);
    if (child === undefined) continue;
    const { name } = child.metadata;
    if (name === own) return [...way.slice(0, -1), own];
    if (seen.has(name)) continue;
    seen.add(name);
    for (const next of childrenNamedIn(child)) ways.push([...way, next.name]);
  }
  return null;
}

/** Levels of workflows below and including this child; a cycle adds no levels. */
function depthOf(
  child: WorkflowManifest,
  manifest: WorkflowManifest,
  known: Known,
  depths: Map<string, number>,
  above: number,
): number {
  const { name } = child.metadata;
  const found = depths.get(name);
  if (found !== undefined) return found;
  if (above > MAX_CHILD_DEPTH) return 1;
  depths.set(name, 0);
  let below = 0;
  for (const next of childrenNamedIn(child)) {
    const inner = find(next.name, manifest, known);
    if (inner !== undefined) below = Math.max(below, depthOf(inner, manifest, known, depths, above + 1));
  }
  depths.set(name, below + 1);
  return below + 1;
}
