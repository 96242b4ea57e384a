import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedCache } from '../../../runtime/kit/bounded-cache.ts';

const held = (cache: BoundedCache<string, number>, ...keys: string[]): string[] =>
  keys.filter((key) => cache.get(key) !== undefined);

test('a bounded cache drops the entries used least recently when it has more than its most', () => {
  const cache = new BoundedCache<string, number>(2);
  cache.put('a', 1);
  cache.put('b', 2);
  assert.equal(cache.get('a'), 1);
  cache.put('c', 3);
  assert.deepEqual(held(cache, 'a', 'b', 'c'), ['a', 'c']);
  cache.put('a', 4);
  cache.put('d', 5);
  assert.deepEqual([cache.get('a'), ...held(cache, 'c', 'd')], [4, 'd']);
  cache.clear();
  assert.deepEqual(held(cache, 'a', 'd'), []);
});

test('a bounded cache counts the sizes of its values, and keeps none that is larger than all of it', () => {
  const cache = new BoundedCache<string, number>(10);
  cache.put('a', 1, 4);
  cache.put('b', 2, 4);
  cache.put('c', 3, 4);
  assert.deepEqual(held(cache, 'a', 'b', 'c'), ['b', 'c']);
  cache.put('c', 4, 11);
  assert.deepEqual(held(cache, 'b', 'c'), ['b'], 'the earlier value is gone as well');
  cache.delete('b');
  cache.put('d', 5, 10);
  assert.deepEqual(held(cache, 'd'), ['d']);
});
