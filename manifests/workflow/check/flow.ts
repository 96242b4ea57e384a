import type { StateSpec, WorkflowManifest } from '../schema.ts';
import type { Transition } from '../transition.ts';
import { endsExecution, type ReadText, readTexts } from './texts.ts';

/** Whether it matches every outcome of the state. */
export const isUnconditional = ({ condition, expression }: Transition): boolean =>
  condition === 'always' || (condition === 'custom' && expression?.trim() === 'true');

/** Transitions that may be evaluated: up to the first unconditional one. */
function liveTransitions({ transitions }: StateSpec): readonly Transition[] {
  const last = transitions.findIndex(isUnconditional);
  return last === -1 ? transitions : transitions.slice(0, last + 1);
}

/** States as a graph, with an edge for each transition that may be taken. */
interface Flow {
  /** In the order of the document. */
  readonly states: ReadonlyMap<string, StateSpec>;
  /** States that can be reached from the initial state. */
  readonly reachable: ReadonlySet<string>;
  /** States from which some state that ends the execution can be reached. */
  readonly ending: ReadonlySet<string>;
  successors(state: string): readonly string[];
  /** Groups of reachable states that can all reach each other; one state alone is a group too. */
  readonly loops: readonly (readonly string[])[];
  /** Whether `earlier` can have run before `later` is entered. */
  precedes(earlier: string, later: string): boolean;
}

export function flowOf({ spec }: WorkflowManifest): Flow {
  const states = new Map(Object.entries(spec.states));
  const edges = new Map<string, readonly string[]>();
  const back = new Map<string, string[]>();
  for (const [name, state] of states) {
    const targets = [...new Set(liveTransitions(state).map(({ target }) => target))].filter((one) => states.has(one));
    edges.set(name, targets);
    for (const target of targets) {
      const sources = back.get(target);
      if (sources === undefined) back.set(target, [name]);
      else sources.push(name);
    }
  }
  const successors = (state: string): readonly string[] => edges.get(state) ?? [];
  const reachable = spread(states.has(spec.initial_state) ? [spec.initial_state] : [], successors);
  const ends = [...states].filter(([, state]) => endsExecution(state)).map(([name]) => name);
  const later = new Map<string, ReadonlySet<string>>();
  return {
    states,
    reachable,
    ending: spread(ends, (state) => back.get(state) ?? []),
    successors,
    loops: componentsOf(reachable, successors),
    precedes(earlier, state) {
      if (!reachable.has(earlier)) return false;
      let behind = later.get(earlier);
      if (behind === undefined) {
        behind = spread(successors(earlier), successors);
        later.set(earlier, behind);
      }
      return behind.has(state);
    },
  };
}

/** Everything that can be reached, including the starts. */
function spread(starts: readonly string[], next: (state: string) => readonly string[]): ReadonlySet<string> {
  const seen = new Set(starts);
  // Iterating over a set also visits the entries that are added meanwhile.
  for (const state of seen) for (const target of next(state)) seen.add(target);
  return seen;
}

/** Strongly connected components (Tarjan, without recursion), in linear time. A component follows those to which it leads. */
export function componentsOf(
  nodes: Iterable<string>,
  successors: (node: string) => readonly string[],
): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const open = new Set<string>();
  const stack: string[] = [];
  const components: string[][] = [];

  const enter = (node: string): { node: string; next: number } => {
    order.set(node, order.size);
    low.set(node, order.get(node) ?? 0);
    stack.push(node);
    open.add(node);
    return { node, next: 0 };
  };
  const lower = (node: string, value: number): void => {
    low.set(node, Math.min(low.get(node) ?? value, value));
  };

  for (const root of nodes) {
    if (order.has(root)) continue;
    const visits = [enter(root)];
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const { node } = visit;
      const next = successors(node)[visit.next];
      visit.next += 1;
      if (next !== undefined) {
        if (!order.has(next)) visits.push(enter(next));
        else if (open.has(next)) lower(node, order.get(next) ?? 0);
        continue;
      }
      visits.pop();
      const parent = visits.at(-1);
      if (parent !== undefined) lower(parent.node, low.get(node) ?? 0);
      if (low.get(node) === order.get(node)) components.push(take(stack, node, open));
    }
  }
  return components;
}

/** The top of the stack down to `first`. */
function take(stack: string[], first: string, open: Set<string>): string[] {
  const component = stack.splice(stack.lastIndexOf(first));
  for (const node of component) open.delete(node);
  return component;
}

/** Deployed agents and workflows that the caller can see. Rules without their look-up report nothing. */
export interface Known {
  /** Whether an agent of this name or UUID is deployed. */
  readonly agents?: (nameOrId: string) => boolean;
  /** The manifest that would run under this name or UUID. */
  readonly workflows?: (nameOrId: string) => WorkflowManifest | undefined;
  /** The node's support for volumes. */
  readonly storage?: KnownStorage;
}

export interface KnownStorage {
  /** `spec.storage.max_size_limit_mb`. */
  readonly maxSizeLimitMb: number;
  /** Whether a write beyond the size of a volume gives ENOSPC; otherwise the writer is stopped. */
  readonly enforcesSize: boolean;
}

/** Input of every rule: the manifest, its graph and its templates, each computed once. */
export interface Subject {
  readonly manifest: WorkflowManifest;
  readonly flow: Flow;
  readonly texts: readonly ReadText[];
  readonly known: Known;
}

export const subjectOf = (manifest: WorkflowManifest, known: Known): Subject => ({
  manifest,
  flow: flowOf(manifest),
  texts: readTexts(manifest),
  known,
});
