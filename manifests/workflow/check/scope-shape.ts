import type { WorkflowManifest } from '../schema.ts';
import { builtInCommand } from './built-in.ts';
import { inputShape } from './input-shape.ts';
import { ANY, map, PLAIN, type Shape, shapeOfJson } from './shape.ts';
import { stateShape } from './state-shape.ts';

/** First parts of template variables that are not names of states (spec 3, Template variables). */
export const RESERVED: ReadonlySet<string> = new Set([
  'intent',
  'input',
  'workflow',
  'blackboard',
  'state',
  'human',
  'execution',
]);

/** What templates of this workflow can see. The blackboard is open: a caller may pass more. */
export function scopeShape(manifest: WorkflowManifest): Shape {
  const { metadata, spec } = manifest;
  const fields = new Map<string, Shape>();
  for (const [name, state] of Object.entries(spec.states)) fields.set(name, stateShape(state));
  fields.set('intent', PLAIN);
  fields.set('input', inputShape(metadata.input_schema));
  fields.set(
    'workflow',
    map({ name: PLAIN, version: PLAIN, context: contextShape(manifest), storage: storageShape(manifest) }),
  );
  fields.set('blackboard', ANY);
  fields.set('state', map({ feedback: PLAIN }));
  fields.set('human', map({ feedback: PLAIN }));
  fields.set('execution', map({ id: PLAIN }));
  return { is: 'map', fields };
}

function contextShape({ spec }: WorkflowManifest): Shape {
  const fields = new Map(Object.entries(spec.context).map(([key, value]) => [key, shapeOfJson(value)]));
  for (const key of writtenBy(spec.states, 'update_context')) fields.set(key, ANY);
  return { is: 'map', fields };
}

const storageShape = ({ spec }: WorkflowManifest): Shape =>
  map({
    workspace: ANY,
    shared_volumes: map(Object.fromEntries(spec.storage.shared_volumes.map(({ name }) => [name, ANY]))),
  });

/** Keys of the blackboard that something in the manifest writes, with what the engine itself puts there. */
export function blackboardKeys({ spec }: WorkflowManifest): ReadonlySet<string> {
  const results = Object.values(spec.states).flatMap((state) =>
    state.kind === 'Subworkflow' && state.result_key !== undefined ? [state.result_key] : [],
  );
  return new Set([
    ...Object.keys(spec.context),
    ...Object.keys(spec.states),
    ...writtenBy(spec.states, 'update_blackboard'),
    ...results,
    'stimulus',
  ]);
}

function writtenBy(
  states: WorkflowManifest['spec']['states'],
  command: 'update_context' | 'update_blackboard',
): string[] {
  return Object.values(states).flatMap((state) =>
    state.kind === 'System' && builtInCommand(state) === command ? Object.keys(state.env) : [],
  );
}
