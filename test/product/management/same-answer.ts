import assert from 'node:assert/strict';
import type { Called } from './management-node.ts';

/** Ids, names that rows create, and times: these differ from call to call. */
const masked = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '(id)')
    .replace(/\bn[0-9a-f]{8}-[0-9a-f]{4}/g, '(name)')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '(time)');

/** The parts that are equal for all calls: all of a failure, the fields of a result. */
const kept = ({ isError, reason, text, structured }: Called): unknown =>
  isError === false ? { isError, fields: Object.keys(structured) } : { isError, reason, text: masked(text) };

/** Asserts that all clients got the same answer. */
export function sameAnswer(calls: readonly Called[]): void {
  const [first, ...others] = calls.map(kept);
  for (const other of others) assert.deepEqual(other, first);
}
