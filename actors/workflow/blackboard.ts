import type { Json, JsonObject } from '../../runtime/json.ts';
import { jsonBytes, own } from './json-field.ts';
import { LIMITS } from './limits.ts';
import type { IdleWorkflow } from './state.ts';
import { StepFailure } from './steps/step.ts';

/** Quotes, colon and comma round one entry. */
const ENTRY_BYTES = 4;

/** Writes entries over those of the same key. Throws a StepFailure `blackboard_full` when it would grow too large. */
export function writeBlackboard(run: IdleWorkflow, entries: JsonObject): IdleWorkflow {
  const written = overwrite(run, entries);
  if (written.blackboard_bytes > LIMITS.blackboardBytes && written.blackboard_bytes > run.blackboard_bytes) {
    const message = `the blackboard would have ${written.blackboard_bytes} bytes, the limit is ${LIMITS.blackboardBytes}`;
    throw new StepFailure('blackboard_full', message);
  }
  return written;
}

/** The same without a limit, for what is small: the record of a failed state. */
export function overwrite(run: IdleWorkflow, entries: JsonObject): IdleWorkflow {
  let bytes = run.blackboard_bytes;
  for (const [key, value] of Object.entries(entries)) {
    const before = own(run.blackboard, key);
    bytes += before === undefined ? keyBytes(key) : -jsonBytes(before);
    bytes += jsonBytes(value);
  }
  return { ...run, blackboard: { ...run.blackboard, ...entries }, blackboard_bytes: bytes };
}

const keyBytes = (key: string): number => Buffer.byteLength(key) + ENTRY_BYTES;

export const blackboardBytes = (blackboard: JsonObject): number =>
  Object.entries(blackboard).reduce((sum, [key, value]: [string, Json]) => sum + keyBytes(key) + jsonBytes(value), 2);
