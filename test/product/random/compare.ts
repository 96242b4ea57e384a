import type { Ended } from './interpreter.ts';
import { isList, isMap, type Json, type JsonMap, OPEN } from './manifest.ts';

/** Members that the product adds to those of the document, where the document allows it. */
const ADDED = ['duration_ms', 'error', 'execution_id', 'metadata', 'stdout_truncated', 'stderr_truncated'];
/** Output of an Agent state that failed: the document defines only its success. */
const OF_A_FAILURE = ['output', 'score', 'confidence', 'iterations', 'result', 'child_execution_id', 'feedback'];
/** Members of a judge's answer that its verdict may keep. */
const OF_A_JUDGE = ['suggestions', 'verdict'];
const NEAR = 1e-9;

/** The differences, one line each; empty when they are equal. */
export function differences(expected: Ended, actual: Ended): string[] {
  const { code, ...rest } = expected;
  const said: Json = { ...rest, ...(code === OPEN ? {} : { code }) };
  const { code: actualCode, ...actualRest } = actual;
  return unlike(said, { ...actualRest, ...(code === OPEN ? {} : { code: actualCode }) }, '');
}

function unlike(expected: Json, actual: Json | undefined, at: string): string[] {
  if (expected === OPEN && actual !== undefined) return [];
  if (typeof expected === 'number' && typeof actual === 'number' && Math.abs(expected - actual) < NEAR) return [];
  if (isMap(expected) && isMap(actual)) return unlikeMaps(expected, actual, at);
  if (isList(expected) && isList(actual) && expected.length === actual.length) {
    return expected.flatMap((item, index) => unlike(item, actual[index], `${at}[${index}]`));
  }
  if (JSON.stringify(expected) === JSON.stringify(actual)) return [];
  return [`${at}: expected ${shown(expected)}, got ${shown(actual)}`];
}

function unlikeMaps(expected: JsonMap, actual: JsonMap, at: string): string[] {
  const keys = Object.keys(actual).filter((key) => !Object.hasOwn(expected, key) && !isAdded(key, expected, at));
  const more = keys.map((key) => `${at}.${key}: not expected, got ${shown(actual[key])}`);
  return [...Object.entries(expected).flatMap(([key, value]) => unlike(value, actual[key], `${at}.${key}`)), ...more];
}

function isAdded(key: string, beside: JsonMap, at: string): boolean {
  if (at === '.blackboard') return false;
  if (beside.status === 'failed' && OF_A_FAILURE.includes(key)) return true;
  return ADDED.includes(key) || (at.includes('individual_results') && OF_A_JUDGE.includes(key));
}

const shown = (value: Json | undefined): string => (value === undefined ? 'nothing' : JSON.stringify(value));
