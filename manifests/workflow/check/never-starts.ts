import type { ContainerStep } from '../containers.ts';
import type { StateSpec } from '../schema.ts';
import { builtInCommand } from './built-in.ts';
import { type Hit, quoted, type Rule, statePath } from './rule.ts';

/** As the effects refuse it when the state is entered: effects/containers/input.ts and effects/programs/input.ts. */
const ENGINE_PATH = /^\/+(?:(?:proc|sys|dev)(?:\/.*)?)?$/;
const CONTAINER_VARIABLE = /^[^=\0\s]{1,256}$/;
const COMMAND_VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
const LOADER_VARIABLE = /^(LD_|DYLD_|BASH_ENV$|ENV$)/;
const IMAGE =
  /^(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{1,5})?\/)?[a-z0-9][a-z0-9._/-]*(?::\w[\w.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/;

/** Legal by spec 3, and refused whenever it is run. */
export const neverStarts: Rule = {
  id: 'never_starts',
  cure: 'Write what can be started; as it is, the state fails each time it is entered.',
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
  // A built-in writes its env as keys, which may be anything.
  if (builtInCommand(state) !== null) return;
  for (const variable of Object.keys(state.env)) {
    const path = statePath(name, 'env', variable);
    if (!COMMAND_VARIABLE.test(variable))
      yield {
        path,
        message: `no command takes a variable named ${quoted(variable)}`,
        cure: 'Name it with letters, digits and underscores, no digit first.',
      };
    else if (LOADER_VARIABLE.test(variable))
      yield {
        path,
        message: `the variable ${quoted(variable)} is refused, since it would change what starts the command`,
        cure: 'Set it inside the command, or name it otherwise.',
      };
  }
}

type Container = Pick<ContainerStep, 'image' | 'env' | 'volumes'>;

function* containerHits({ image, env, volumes }: Container, at: readonly PropertyKey[]): Iterable<Hit> {
  if (!image.includes('{{') && !IMAGE.test(image.trim()))
    yield {
      path: [...at, 'image'],
      message: `${quoted(image)} is no reference of an image`,
      cure: 'Write one such as alpine:3.20 or registry.example/team/app@sha256:….',
    };
  for (const variable of Object.keys(env))
    if (!CONTAINER_VARIABLE.test(variable))
      yield {
        path: [...at, 'env', variable],
        message: `no container takes a variable named ${quoted(variable)}`,
        cure: 'Name it without "=" and blanks.',
      };
  for (const [index, { mount_path: mountPath }] of volumes.entries())
    if (ENGINE_PATH.test(mountPath))
      yield {
        path: [...at, 'volumes', index, 'mount_path'],
        message: `no container starts with a volume at ${quoted(mountPath)}`,
        cure: 'Mount it elsewhere than at /, or at or below /proc, /sys and /dev.',
      };
}
