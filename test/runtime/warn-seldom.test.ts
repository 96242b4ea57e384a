import assert from 'node:assert/strict';
import { test } from 'node:test';
import { warnSeldom } from '../../runtime/open-stores.ts';

test('a warning that repeats is one line in 10 s with the number of the others, and another one is not delayed', () => {
  const lines: string[] = [];
  let now = 0;
  const warn = warnSeldom(
    (message) => void lines.push(message),
    () => now,
  );
  for (; now < 11_000; now += 500) warn('the queue of effects has a fault', new Error('ECONNREFUSED'));
  warn('the queue of effects has a fault', new Error('another'));
  assert.deepEqual(lines, [
    'the queue of effects has a fault',
    'the queue of effects has a fault (and 19 times since the last line)',
    'the queue of effects has a fault',
  ]);
});
