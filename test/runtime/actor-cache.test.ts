import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import { ActorCache } from '../../runtime/turns/actor-cache.ts';
import type { Activation } from '../../runtime/turns/actor-draft.ts';
import { counter } from '../support/actors.ts';

const named = (id: string): Address => addressOf('counter', 'acme', id);
const activation = (id: string, size: number, partition: Activation['partition'] = 'default:0'): Activation => ({
  ...{ address: named(id), partition, term: 0, tenant: 'acme', definition: counter, text: '{}', owned: false, size },
  record: { revision: 1, lastEvent: 0, timers: {}, effects: [], stuck: null, state: {} },
});
const held = (cache: ActorCache, ...ids: string[]) => ids.filter((id) => cache.get(named(id)) !== undefined);

test('the actors in memory are bounded by number and by size, the least recently used go first', () => {
  const cache = new ActorCache(systemClock, { actors: 4, bytes: 1_000, idleMs: 60_000 });
  for (const id of ['a', 'b', 'c', 'd', 'e']) cache.put(activation(id, 100));
  assert.deepEqual(held(cache, 'a', 'b', 'c', 'd', 'e'), ['b', 'c', 'd', 'e']);
  assert.equal(cache.bytes, 400);
  cache.get(named('b'));
  cache.put(activation('large', 800));
  assert.deepEqual(held(cache, 'c', 'd', 'e', 'b', 'large'), ['e', 'b', 'large'], 'as many go as make room');
  assert.equal(cache.bytes, 1_000);
});

test('an actor that grows counts with its present size, and one beyond the bound is kept alone', () => {
  const cache = new ActorCache(systemClock, { actors: 10, bytes: 1_000, idleMs: 60_000 });
  for (const id of ['a', 'b', 'c']) cache.put(activation(id, 100));
  const grown = cache.get(named('a')) ?? assert.fail('a is held');
  grown.size = 850;
  cache.put(grown);
  assert.deepEqual([held(cache, 'b', 'c', 'a'), cache.bytes], [['c', 'a'], 950]);
  cache.put(activation('huge', 5_000));
  assert.deepEqual([held(cache, 'a', 'c', 'huge'), cache.bytes], [['huge'], 5_000]);
  cache.put(activation('b', 10, 'default:1'));
  assert.deepEqual([held(cache, 'huge', 'b'), cache.bytes], [['b'], 10]);
  cache.put(activation('c', 20));
  cache.dropPartitions(new Set(['default:1']));
  assert.deepEqual([held(cache, 'b', 'c'), cache.bytes], [['c'], 20]);
  cache.drop(named('c'));
  assert.deepEqual([cache.size, cache.bytes], [0, 0]);
});

test('an actor of an earlier term of its partition is not found, nor kept when its commit ends late', () => {
  const cache = new ActorCache(systemClock, { actors: 10, bytes: 1_000, idleMs: 60_000 });
  cache.put(activation('a', 10));
  cache.put(activation('b', 10, 'default:1'));
  cache.begin('default:0');
  assert.deepEqual(held(cache, 'a', 'b'), ['b']);
  assert.equal(cache.peek(named('a')), undefined);
  cache.put(activation('c', 10));
  assert.deepEqual(held(cache, 'c'), []);
  cache.put({ ...activation('a', 10), term: cache.termOf('default:0') });
  assert.deepEqual(held(cache, 'a', 'b'), ['a', 'b']);
});

test('an actor of a kind that leaves memory early goes before the others, and one that is used stays', () => {
  let now = 0;
  const cache = new ActorCache({ ...systemClock, monotonic: () => now }, { actors: 10, bytes: 1_000, idleMs: 60_000 });
  const early = { ...counter, idleMs: 5_000 };
  cache.put(activation('a', 10));
  for (const id of ['b', 'c', 'd']) cache.put({ ...activation(id, 10), definition: early });
  now = 4_000;
  cache.get(named('c'));
  cache.drop(named('d'));
  now = 5_000;
  cache.passivate();
  assert.equal(cache.peek(named('b')), undefined);
  assert.deepEqual([cache.size, cache.bytes, cache.peek(named('c')) === undefined], [2, 20, false]);
  now = 9_000;
  cache.passivate();
  assert.deepEqual(held(cache, 'a', 'b', 'c'), ['a']);
  now = 69_000;
  cache.passivate();
  assert.equal(cache.size, 0);
});
