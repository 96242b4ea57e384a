import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heapKeeper } from '../../app/heap-growth.ts';

test('the heap is kept small from a thousand effects that wait, until fewer than half of them do', () => {
  const options: string[] = [];
  const keep = heapKeeper(
    (option) => options.push(option),
    () => {},
  );
  for (const waiting of [1, 500, 999]) keep(waiting);
  assert.deepEqual(options, []);
  for (const waiting of [1_000, 5_000, 999, 500]) keep(waiting);
  assert.deepEqual(options, ['--heap-growing-percent=12']);
  for (const waiting of [499, 600, 0]) keep(waiting);
  assert.deepEqual(options.slice(1), ['--heap-growing-percent=0']);
});

test('one collection begins with each time that the heap is to be kept small: the bound of the last one was made for more', () => {
  const done: string[] = [];
  const keep = heapKeeper(
    (option) => done.push(option),
    () => done.push('collection'),
  );
  for (const waiting of [999, 1_000, 5_000, 499, 1_000]) keep(waiting);
  assert.deepEqual(done, [
    ...['--heap-growing-percent=12', 'collection'],
    ...['--heap-growing-percent=0', '--heap-growing-percent=12', 'collection'],
  ]);
});
