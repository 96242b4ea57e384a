import type { StateSpec } from '../schema.ts';
import type { ContainerStep } from '../state.ts';
import type { Subject } from './flow.ts';
import { type Hit, quoted, type Rule, statePath } from './rule.ts';
import { RESERVED } from './scope-shape.ts';
import { builtInCommand, endsExecution, type ReadText } from './texts.ts';

export const unreachableState: Rule = {
  id: 'unreachable_state',
  cure: 'Add a transition to it, or delete it.',
  *check({ flow, manifest }) {
    for (const name of flow.states.keys()) {
      if (!flow.reachable.has(name))
        yield {
          path: statePath(name),
          message: `state ${quoted(name)} cannot be reached from ${quoted(manifest.spec.initial_state)}`,
        };
    }
  },
};

export const noTerminalState: Rule = {
  id: 'no_terminal_state',
  cure: 'Give the workflow a state with `transitions: []`: reaching it completes the execution.',
  *check({ flow }) {
    if (flow.ending.size === 0)
      yield { path: ['spec', 'states'], message: 'no state ends the execution: none has `transitions: []`' };
  },
};

/** States that can only lead into a loop without exit; `loop_without_exit` names the loop itself. */
export const noWayToEnd: Rule = {
  id: 'no_way_to_end',
  cure: 'Add a transition that leads, directly or over other states, to a state with `transitions: []`.',
  *check({ flow }) {
    if (flow.ending.size === 0) return;
    for (const loop of flow.loops) {
      const members = new Set(loop);
      const leaves = loop.some((name) => flow.successors(name).some((target) => !members.has(target)));
      if (!leaves) continue;
      for (const name of loop)
        if (!flow.ending.has(name))
          yield {
            path: statePath(name),
            message: `the end of the execution cannot be reached from state ${quoted(name)}`,
          };
    }
  },
};

/** The same rule as in the effects: effects/containers/input.ts and effects/programs/input.ts. */
const ENGINE_PATH = /^\/+(?:(?:proc|sys|dev)(?:\/.*)?)?$/;

const CONTAINER_VARIABLE = /^[^=\0\s]{1,256}$/;

const COMMAND_VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;

const LOADER_VARIABLE = /^(LD_|DYLD_|BASH_ENV$|ENV$)/;

const IMAGE =
  /^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?\/)?[a-z0-9][a-z0-9._/-]*(?::\w[\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/;

/** Valid in a manifest (W20), but refused at every start. */
export const neverStarts: Rule = {
  id: 'never_starts',
  cure: 'Correct it: as it is, the state fails each time it is entered.',
  *check({ flow }) {
    for (const [name, state] of flow.states) {
      if (state.kind === 'System') yield* commandHits(name, state);
      if (state.kind === 'ContainerRun') yield* containerHits(state, statePath(name));
      if (state.kind === 'ParallelContainerRun')
        for (const [index, step] of state.steps.entries()) yield* containerHits(step, statePath(name, 'steps', index));
    }
  },
};

function* commandHits(name: string, state: Extract<StateSpec, { kind: 'System' }>): Iterable<Hit> {
  // The env of a built-in are keys, which may be any text.
  if (builtInCommand(state) !== null) return;
  for (const variable of Object.keys(state.env)) {
    const path = statePath(name, 'env', variable);
    if (!COMMAND_VARIABLE.test(variable))
      yield {
        path,
        message: `${quoted(variable)} is not a valid name of an environment variable`,
        cure: 'Use letters, digits and underscores, not beginning with a digit.',
      };
    else if (LOADER_VARIABLE.test(variable))
      yield {
        path,
        message: `the variable ${quoted(variable)} is refused, since it would change how the command is started`,
        cure: 'Set it inside the command, or use another name.',
      };
  }
}

type Container = Pick<ContainerStep, 'image' | 'env' | 'volumes'>;

function* containerHits({ image, env, volumes }: Container, at: readonly PropertyKey[]): Iterable<Hit> {
  if (!image.includes('{{') && !IMAGE.test(image.trim()))
    yield {
      path: [...at, 'image'],
      message: `${quoted(image)} is not a reference of an image`,
      cure: 'Write a reference such as alpine:3.20 or registry.example/team/app@sha256:….',
    };
  for (const variable of Object.keys(env))
    if (!CONTAINER_VARIABLE.test(variable))
      yield {
        path: [...at, 'env', variable],
        message: `${quoted(variable)} is not a valid name of a container's variable`,
        cure: 'Use a name without "=" and white space.',
      };
  for (const [index, { mount_path: mountPath }] of volumes.entries())
    if (ENGINE_PATH.test(mountPath))
      yield {
        path: [...at, 'volumes', index, 'mount_path'],
        message: `a volume cannot be mounted at ${quoted(mountPath)}: the container would not start`,
        cure: 'Choose a path that is not / and not at or below /proc, /sys or /dev.',
      };
}

const MAX_NAMED = 8;

export const loopWithoutExit: Rule = {
  id: 'loop_without_exit',
  cure: 'Add a transition that leaves the loop; after 1,000 transitions the execution fails.',
  *check({ flow }) {
    const position = new Map([...flow.states.keys()].map((name, index) => [name, index]));
    for (const loop of flow.loops) {
      const members = new Set(loop);
      const leaves = loop.some((name) => flow.successors(name).some((target) => !members.has(target)));
      const ends = loop.some((name) => {
        const state = flow.states.get(name);
        return state !== undefined && endsExecution(state);
      });
      if (leaves || ends) continue;
      const ordered = [...loop].sort((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0));
      const named = ordered.slice(0, MAX_NAMED).map(quoted).join(', ');
      const [first = ''] = ordered;
      yield {
        path: statePath(first, 'transitions'),
        message: `once here the execution never ends: no transition leaves the loop of ${named}${loop.length > MAX_NAMED ? ', …' : ''}`,
      };
    }
  },
};

export const stateNeverPrecedes: Rule = {
  id: 'state_never_precedes',
  cure: 'Name a state that can run before this one, or change the transitions.',
  *check(subject) {
    const { flow, texts } = subject;
    const sources = {
      withFeedback: statesWithFeedback(subject),
      humans: [...flow.states].filter(([, { kind }]) => kind === 'Human').map(([name]) => name),
    };
    for (const text of texts) {
      if (!flow.reachable.has(text.state)) continue;
      for (const { path, conditional } of text.references) {
        // A test or a default shows that the author expects a missing value.
        if (conditional) continue;
        const hit = early(path, text, subject, sources);
        if (hit !== null) yield hit;
      }
    }
  },
};

interface Sources {
  /** States that a transition with feedback leads to. */
  readonly withFeedback: ReadonlySet<string>;
  readonly humans: readonly string[];
}

function early(
  [root = '', key]: readonly string[],
  text: ReadText,
  { flow }: Subject,
  { withFeedback, humans }: Sources,
): Hit | null {
  const { state, path } = text;
  const ran = (earlier: string): boolean =>
    (text.when === 'after' && earlier === state) || flow.precedes(earlier, state);
  if (root === 'state' && key === 'feedback' && !withFeedback.has(state))
    return {
      path,
      message: `no transition to state ${quoted(state)} has feedback`,
      cure: 'Add `feedback` to the transition that leads here.',
    };
  if (root === 'human' && !humans.some(ran))
    return { path, message: `no Human state can run before state ${quoted(state)}` };
  if (RESERVED.has(root) || !flow.states.has(root) || ran(root)) return null;
  return { path, message: `state ${quoted(root)} can never run before state ${quoted(state)}` };
}

/** Targets of a transition that has feedback. */
function statesWithFeedback({ flow }: Subject): ReadonlySet<string> {
  return new Set(
    [...flow.states.values()].flatMap(({ transitions }) =>
      transitions.filter(({ feedback }) => feedback !== undefined).map(({ target }) => target),
    ),
  );
}
