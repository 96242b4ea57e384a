import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted } from '../../../runtime/kit/counted.ts';

test('one of a thing is singular, none and several are plural', () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => counted(count, 'actor')),
    ['0 actors', '1 actor', '2 actors'],
  );
  assert.deepEqual(
    [1, 3].map((count) => counted(count, 'entry was', 'entries were')),
    ['1 entry was', '3 entries were'],
  );
});
