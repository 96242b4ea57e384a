import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lint, staleFiles } from '../../proto/generate.ts';

test('generated code is what the .proto files make', () => {
  assert.deepEqual(staleFiles(), [], 'run "npm run generate"');
});

test('the .proto files pass buf lint', () => {
  assert.doesNotThrow(lint);
});
