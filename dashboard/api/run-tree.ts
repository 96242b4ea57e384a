import type { Run } from './runs.ts';

/** A run in the tree of its relatives, or a starter that is not a run itself: a stimulus, a panel of judges. */
export interface RunNode {
  readonly key: string;
  readonly run: Run | null;
  readonly label: string;
  readonly children: readonly RunNode[];
}

const LABELS: Readonly<Record<string, string>> = { 'judge-panel': 'panel of judges' };

/** Runs as trees, the oldest first. A starter that is not in the list becomes a node of the tree. */
export function treeOf(runs: readonly Run[]): RunNode[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const children = new Map<string, Run[]>();
  const roots: Run[] = [];
  const starters = new Map<string, NonNullable<Run['parent']>>();
  for (const run of [...runs].sort((a, b) => (a.started_at < b.started_at ? -1 : 1))) {
    const { parent } = run;
    if (parent === null) {
      roots.push(run);
      continue;
    }
    children.set(parent.id, [...(children.get(parent.id) ?? []), run]);
    if (!byId.has(parent.id)) starters.set(parent.id, parent);
  }
  const node = (run: Run): RunNode => ({
    key: run.id,
    run,
    label: `${run.name} ${run.version}`,
    children: (children.get(run.id) ?? []).map(node),
  });
  const others = [...starters.values()].map(
    ({ kind, id }): RunNode => ({
      key: id,
      run: null,
      label: `${LABELS[kind] ?? kind} ${id.slice(0, 8)}`,
      children: (children.get(id) ?? []).map(node),
    }),
  );
  return [...others, ...roots.map(node)];
}
