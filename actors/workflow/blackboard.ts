import { renderTemplate } from '../../manifests/template/rendering.ts';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import { LIMITS } from './limits.ts';
import type { WorkflowTurn } from './messages.ts';
import type { IdleWorkflow } from './state.ts';
import { StepFailure } from './steps/step.ts';

export { jsonField, jsonObjectField } from '../../runtime/json.ts';

/** Quotes, colon and comma round one entry. */
const ENTRY_BYTES = 4;

/** Writes entries over those of the same key. Throws a StepFailure `blackboard_full` when it would grow too large. */
export function writeBlackboard(run: IdleWorkflow, entries: JsonObject, turn: WorkflowTurn): IdleWorkflow {
  const bytes = bytesWith(run, entries);
  if (bytes > LIMITS.blackboardBytes && bytes > run.blackboard_bytes)
    throw full(`${bytes} bytes`, LIMITS.blackboardBytes);
  const added = Object.keys(entries).filter((key) => !Object.hasOwn(run.blackboard, key)).length;
  const keys = draftOf(run, turn).keys + added;
  if (added > 0 && keys > LIMITS.blackboardKeys) throw full(`${keys} keys`, LIMITS.blackboardKeys);
  return write(run, entries, { bytes, keys }, turn);
}

/** The same without a limit, for what is small: the record of a failed state. */
export function overwrite(run: IdleWorkflow, entries: JsonObject, turn: WorkflowTurn): IdleWorkflow {
  const added = Object.keys(entries).filter((key) => !Object.hasOwn(run.blackboard, key)).length;
  const keys = draftOf(run, turn).keys + added;
  return write(run, entries, { bytes: bytesWith(run, entries), keys }, turn);
}

const full = (size: string, limit: number): StepFailure =>
  new StepFailure('blackboard_full', `the blackboard would have ${size}, the limit is ${limit}`);

function bytesWith(run: IdleWorkflow, entries: JsonObject): number {
  let bytes = run.blackboard_bytes;
  for (const [key, value] of Object.entries(entries)) {
    const before = own(run.blackboard, key);
    bytes += before === undefined ? keyBytes(key) : -jsonBytes(before);
    bytes += jsonBytes(value);
  }
  return bytes;
}

interface Draft {
  readonly blackboard: JsonObject;
  keys: number;
}

/**
 * A turn may write a hundred times, so the blackboard is copied once a turn and written in place from then on. The
 * state that the turn began with is never touched: a turn that is rolled back leaves nothing.
 */
const drafts = new WeakMap<WorkflowTurn, Draft>();

function draftOf(run: IdleWorkflow, turn: WorkflowTurn): Draft {
  const known = drafts.get(turn);
  if (known?.blackboard === run.blackboard) return known;
  const blackboard = { ...run.blackboard };
  return { blackboard, keys: Object.keys(blackboard).length };
}

function write(
  run: IdleWorkflow,
  entries: JsonObject,
  { bytes, keys }: { readonly bytes: number; readonly keys: number },
  turn: WorkflowTurn,
): IdleWorkflow {
  const draft = draftOf(run, turn);
  // Defined, not assigned: a key is never a setter of a prototype.
  for (const [key, value] of Object.entries(entries))
    Object.defineProperty(draft.blackboard, key, { value, enumerable: true, configurable: true, writable: true });
  draft.keys = keys;
  drafts.set(turn, draft);
  return { ...run, blackboard: draft.blackboard, blackboard_bytes: bytes };
}

const keyBytes = (key: string): number => Buffer.byteLength(key) + ENTRY_BYTES;

export const blackboardBytes = (blackboard: JsonObject): number =>
  Object.entries(blackboard).reduce((sum, [key, value]: [string, Json]) => sum + keyBytes(key) + jsonBytes(value), 2);

/**
 * What templates and expressions of the current state see (spec 3, Template variables). A state that was entered is
 * seen under its name; the fixed names win over a state called like one of them.
 */
export function scopeOf(run: IdleWorkflow): JsonObject {
  const { metadata } = run.manifest;
  const states: [string, Json][] = [];
  for (const name of Object.keys(run.visits)) {
    const output = own(run.blackboard, name);
    if (output !== undefined) states.push([name, output]);
  }
  return {
    ...Object.fromEntries(states),
    ...(run.intent === null ? {} : { intent: run.intent }),
    input: run.input,
    workflow: {
      name: metadata.name,
      version: metadata.version,
      context: run.context,
      storage: { workspace: run.storage.workspace, shared_volumes: run.storage.shared },
    },
    blackboard: run.blackboard,
    state: { feedback: run.feedback },
    human: run.human_feedback === null ? {} : { feedback: run.human_feedback },
    execution: { id: run.execution_id },
  };
}

/** Renders one template of the current state; throws an SvcError when the text grows too long. */
export type Render = (template: string, maxChars?: number) => string;

/** Renders the templates of one state; the scope is made once, and only when a template needs it. */
export function renderer(run: IdleWorkflow): Render {
  let scope: JsonObject | undefined;
  const state = run.current_state ?? '';
  return (template, maxChars = LIMITS.renderedChars) => {
    if (!template.includes('{{')) return template;
    scope ??= scopeOf(run);
    return renderTemplate(template, scope, { state, maxChars });
  };
}

export const renderMap = (render: Render, map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, render(value)]));

/**
 * Annotation of a workflow: with the value `sealed` its containers have no network, a root that cannot be written and no
 * user with rights, whatever the node's settings are.
 */
export const CONTAINERS = 'svc.dev/containers';

export const isSealed = ({ metadata }: Pick<WorkflowManifest, 'metadata'>): boolean =>
  own(metadata.annotations, CONTAINERS) === 'sealed';

/** Whether the annotation says something that would be taken for a wall and is none. */
export const isBadlySealed = ({ metadata }: Pick<WorkflowManifest, 'metadata'>): boolean =>
  (own(metadata.annotations, CONTAINERS) ?? 'sealed') !== 'sealed';

/** A property of its own, never one of a prototype. */
export function own<T>(record: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** UTF-8 size of a value as JSON text. */
export const jsonBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value));
