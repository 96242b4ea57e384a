import type { Json, JsonObject } from '../../json-schema/fit.ts';
import type { StateOf, StateSpec, WorkflowManifest } from '../schema.ts';
import { builtInCommand } from './texts.ts';

/** First segments of template variables that are not names of states (W17). */
export const RESERVED: ReadonlySet<string> = new Set([
  'intent',
  'input',
  'workflow',
  'blackboard',
  'state',
  'human',
  'execution',
]);

/** The variables of this workflow's templates. The blackboard is open: a caller may pass more. */
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

/** Blackboard keys that the manifest or the engine writes. */
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

/** The known shape of a value, which shows that a path cannot exist. */
export type Shape =
  | { readonly is: 'any' }
  /** Text, number or boolean: it has no members. */
  | { readonly is: 'plain' }
  | { readonly is: 'map'; readonly fields: ReadonlyMap<string, Shape> }
  | { readonly is: 'list'; readonly item: Shape; readonly length?: number };

const ANY: Shape = { is: 'any' };

const PLAIN: Shape = { is: 'plain' };

const map = (fields: Readonly<Record<string, Shape>>): Shape => ({
  is: 'map',
  fields: new Map(Object.entries(fields)),
});

const list = (item: Shape, length?: number): Shape => ({
  is: 'list',
  item,
  ...(length === undefined ? {} : { length }),
});

/** A path outside the known shape: how many of its segments exist, and the candidates for the next. */
interface Astray {
  readonly known: number;
  readonly choices: readonly string[];
}

/** Null when the path may exist. */
export function astray(shape: Shape, path: readonly string[]): Astray | null {
  let at = shape;
  for (const [index, part] of path.entries()) {
    if (at.is === 'any') return null;
    const next = inside(at, part);
    if (next === null) return { known: index, choices: at.is === 'map' ? [...at.fields.keys()] : [] };
    at = next;
  }
  return null;
}

function inside(shape: Shape, part: string): Shape | null {
  if (shape.is === 'map') return shape.fields.get(part) ?? null;
  if (shape.is !== 'list') return null;
  if (part === 'length') return PLAIN;
  if (!/^\d{1,6}$/.test(part)) return null;
  return shape.length !== undefined && Number(part) >= shape.length ? null : shape.item;
}

/** Of a constant. */
function shapeOfJson(value: Json): Shape {
  if (Array.isArray(value)) return list(ANY, value.length);
  if (typeof value !== 'object' || value === null) return PLAIN;
  return { is: 'map', fields: new Map(Object.entries(value).map(([key, inner]) => [key, shapeOfJson(inner)])) };
}

/** Keywords that allow more members than `properties` lists. */
const OPEN = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas', 'not'];

/**
 * The shape that `metadata.input_schema` declares. Undeclared keys count as unknown, although JSON Schema allows them, unless
 * the schema has `additionalProperties` or is composed of others.
 */
function inputShape(schema: JsonObject | undefined): Shape {
  return schema === undefined ? ANY : shapeOf(schema);
}

function shapeOf(schema: Json | undefined): Shape {
  if (!isObject(schema) || OPEN.some((keyword) => Object.hasOwn(schema, keyword))) return ANY;
  const { type } = schema;
  if (type === 'object') {
    const { properties, additionalProperties: more } = schema;
    if (!isObject(properties) || (more !== undefined && more !== false)) return ANY;
    return { is: 'map', fields: new Map(Object.entries(properties).map(([key, inner]) => [key, shapeOf(inner)])) };
  }
  if (type === 'array') return { is: 'list', item: shapeOf(isObject(schema.items) ? schema.items : undefined) };
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean' ? PLAIN : ANY;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const PROCESS = map({
  exit_code: PLAIN,
  // They may hold JSON.
  stdout: ANY,
  stderr: ANY,
  duration_ms: PLAIN,
  stdout_truncated: PLAIN,
  stderr_truncated: PLAIN,
});

/** The entry of a state after it ran (W7–W14). `error` is there when it failed. */
function stateShape(state: StateSpec): Shape {
  const ended = { status: PLAIN, error: ANY };
  switch (state.kind) {
    case 'Agent':
      return map({ ...ended, output: ANY, score: PLAIN, confidence: PLAIN, iterations: PLAIN, execution_id: PLAIN });
    case 'System':
      return map({ ...ended, output: builtInCommand(state) === null ? PROCESS : ANY });
    case 'ContainerRun':
      return map({ ...ended, output: PROCESS });
    case 'ParallelContainerRun':
      return map({ ...ended, output: map(Object.fromEntries(state.steps.map(({ name }) => [name, PROCESS]))) });
    case 'Human':
      return map({ ...ended, output: ANY, feedback: PLAIN });
    case 'ParallelAgents':
      return map({ ...ended, output: ANY, ...panelShape(state) });
    case 'Subworkflow':
      return map({
        ...ended,
        output: ANY,
        child_execution_id: PLAIN,
        ...(state.mode === 'blocking' ? { result: ANY } : {}),
      });
  }
}

function panelShape({ agents }: StateOf<'ParallelAgents'>): Readonly<Record<string, Shape>> {
  return {
    consensus: map({ score: PLAIN, confidence: PLAIN, strategy: PLAIN, metadata: ANY, all_succeeded: PLAIN }),
    individual_results: list(
      map({ agent_id: PLAIN, score: PLAIN, confidence: PLAIN, reasoning: PLAIN }),
      agents.length,
    ),
    agents: list(map({ agent_id: PLAIN, output: ANY, weight: PLAIN }), agents.length),
  };
}
