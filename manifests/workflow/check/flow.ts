import type { StateSpec, WorkflowManifest } from '../schema.ts';
import { endsExecution } from './built-in.ts';
import { componentsOf } from './components.ts';
import { liveTransitions } from './live-transitions.ts';

/** States as a graph: an edge for each transition that may ever be taken. */
export interface Flow {
  /** In the order of the document. */
  readonly states: ReadonlyMap<string, StateSpec>;
  /** From the initial state. */
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

/** Everything that can be reached, the starts included. */
function spread(starts: readonly string[], next: (state: string) => readonly string[]): ReadonlySet<string> {
  const seen = new Set(starts);
  // A set is walked in order of insertion, what is added on the way included.
  for (const state of seen) for (const target of next(state)) seen.add(target);
  return seen;
}
