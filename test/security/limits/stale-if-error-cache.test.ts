import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { StaleIfErrorCache } from '../../../security/ttl-cache.ts';

/** A store that can be away, and how often it was asked. */
function setup(most = 10) {
  const state = { nowMs: 0, asked: 0, words: new Map<string, string | null>(), away: null as string | null };
  const last = new StaleIfErrorCache<string | null>({
    read: async (id) => {
      state.asked += 1;
      if (state.away === 'unavailable') throw new SvcError('unavailable', 'away');
      if (state.away !== null) throw new SvcError('internal', state.away);
      return state.words.get(id) ?? null;
    },
    clock: { now: () => state.nowMs },
    most,
  });
  return { state, last };
}

describe('the last answer of a store', () => {
  test('is used while the store is down, also when it was empty, and the store is asked again after a while', async () => {
    const { state, last } = setup();
    state.words.set('a', 'first');
    assert.deepEqual([await last.read('a'), await last.read('b')], ['first', null]);
    state.away = 'unavailable';
    state.words.set('a', 'second');
    assert.deepEqual([await last.read('a'), await last.read('b'), await last.read('a')], ['first', null, 'first']);
    assert.equal(state.asked, 3, 'not asked by each');
    state.away = null;
    state.nowMs += 5_000;
    assert.equal(await last.read('a'), 'second');
    assert.equal(await last.read('b'), null);
    assert.equal(state.asked, 5, 'an answer ends it for all');
  });

  test('is not used for values that were never read, were changed here or were evicted', async () => {
    const { state, last } = setup(2);
    for (const id of ['old', 'changed', 'kept']) await last.read(id);
    last.forget('changed');
    state.away = 'unavailable';
    for (const id of ['old', 'changed', 'never']) await assert.rejects(last.read(id), { code: 'unavailable' }, id);
    assert.equal(await last.read('kept'), null);
  });

  test('hides no other failure', async () => {
    const { state, last } = setup();
    await last.read('a');
    state.away = 'broken';
    await assert.rejects(last.read('a'), { code: 'internal' });
  });
});
