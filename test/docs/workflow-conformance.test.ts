import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf, wrongIn } from './conformance.ts';

const LEAST_ROWS = 60;

const rows = rowsOf('docs/conformance/workflow-conformance.md');

test('every line names a file of the code and tests by their titles', () => {
  assert.ok(rows.length >= LEAST_ROWS, `${rows.length} rows`);
  assert.deepEqual(rows.flatMap(wrongIn), []);
});

test('no line is listed twice', () => {
  assert.equal(new Set(rows.map(({ line }) => line)).size, rows.length);
});
