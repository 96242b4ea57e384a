import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { cachedSchema } from '../../runtime/json.ts';

const State = z.object({ plan: cachedSchema(z.object({ name: z.string() })).optional(), count: z.number() });

test('a part that was checked is carried along as the same object, one made anew is checked', () => {
  const first = State.parse({ plan: { name: 'a', unknown: true }, count: 1 });
  assert.deepEqual(first, { plan: { name: 'a' }, count: 1 });
  assert.equal(State.parse({ ...first, count: 2 }).plan, first.plan);
  assert.deepEqual(State.safeParse({ plan: { name: 1 }, count: 1 }).error?.issues[0]?.path, ['plan', 'name']);
  assert.equal(State.safeParse({ plan: null, count: 1 }).success, false);
  assert.deepEqual(State.parse({ count: 1 }), { count: 1 });
});
