import { childrenNamedIn } from '../deployed-names.ts';
import type { WorkflowManifest } from '../schema.ts';
import { quoted, type Rule } from './rule.ts';
import type { Known } from './subject.ts';

/** Children below children (spec 3, Subworkflow rules). */
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

/** The manifest that is checked stands for its name, whatever is deployed under it. */
function find(name: string, manifest: WorkflowManifest, known: Known): WorkflowManifest | undefined {
  return name === manifest.metadata.name ? manifest : known.workflows?.(name);
}

/** The names from the manifest over this child back to the manifest; null when there is no such way. */
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

/** Levels of workflows from this child down, itself counted; a cycle counts as none more. */
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
