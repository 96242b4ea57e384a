import type { Json, JsonObject } from '../../runtime/json.ts';
import { jsonBytes, own } from './json-values.ts';
import { LIMITS } from './limits.ts';
import type { WorkflowTurn } from './messages.ts';
import type { IdleWorkflow } from './state.ts';
import { StepFailure } from './steps/step.ts';

/** Quotes, colon and comma of one entry. */
const ENTRY_BYTES = 4;

/** Writes entries, replacing those with the same key. Throws a StepFailure `blackboard_full` above its limits. */
export function writeBlackboard(run: IdleWorkflow, entries: JsonObject, turn: WorkflowTurn): IdleWorkflow {
  const bytes = bytesWith(run, entries);
  if (bytes > LIMITS.blackboardBytes && bytes > run.blackboard_bytes)
    throw full(`${bytes} bytes`, LIMITS.blackboardBytes);
  const added = Object.keys(entries).filter((key) => !Object.hasOwn(run.blackboard, key)).length;
  const draft = draftOf(run, turn);
  const keys = draft.keys + added;
  if (added > 0 && keys > LIMITS.blackboardKeys) throw full(`${keys} keys`, LIMITS.blackboardKeys);
  return write(run, entries, { draft, bytes, keys }, turn);
}

/** The same without a limit, for small records of failed states. */
export function overwrite(run: IdleWorkflow, entries: JsonObject, turn: WorkflowTurn): IdleWorkflow {
  const added = Object.keys(entries).filter((key) => !Object.hasOwn(run.blackboard, key)).length;
  const draft = draftOf(run, turn);
  return write(run, entries, { draft, bytes: bytesWith(run, entries), keys: draft.keys + added }, turn);
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
 * A turn may write a hundred times, so it copies the blackboard once and then writes in place. The state with which the turn
 * began stays unchanged, so a turn that is rolled back leaves no change.
 */
const drafts = new WeakMap<WorkflowTurn, Draft>();

function draftOf(run: IdleWorkflow, turn: WorkflowTurn): Draft {
  const known = drafts.get(turn);
  if (known?.blackboard === run.blackboard) return known;
  const blackboard = { ...run.blackboard };
  return { blackboard, keys: Object.keys(blackboard).length };
}

const ENTRY = { enumerable: true, configurable: true, writable: true } as const;

function write(
  run: IdleWorkflow,
  entries: JsonObject,
  { draft, bytes, keys }: { readonly draft: Draft; readonly bytes: number; readonly keys: number },
  turn: WorkflowTurn,
): IdleWorkflow {
  for (const [key, value] of Object.entries(entries)) {
    // Only this name has a setter, so an entry of that name is defined. To define all of them takes ten times as long.
    if (key === '__proto__') Object.defineProperty(draft.blackboard, key, { ...ENTRY, value });
    else draft.blackboard[key] = value;
  }
  draft.keys = keys;
  drafts.set(turn, draft);
  return { ...run, blackboard: draft.blackboard, blackboard_bytes: bytes };
}

const keyBytes = (key: string): number => Buffer.byteLength(key) + ENTRY_BYTES;

export const blackboardBytes = (blackboard: JsonObject): number =>
  Object.entries(blackboard).reduce((sum, [key, value]: [string, Json]) => sum + keyBytes(key) + jsonBytes(value), 2);
