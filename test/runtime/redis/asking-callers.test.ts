import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import type { Partition } from '../../../runtime/address.ts';
import { redisMissing } from '../../support/redis.ts';
import { openedStore } from './opened-store.ts';

const PARTITION: Partition = 'default:0';
const META = `{svc:${PARTITION}}:meta`;
const HOUR_MS = 3_600_000;
const MOST = 64;

it('a partition remembers the processes that asked for its lease in the last hour, 64 at most', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const { admin, store } = await openedStore(test);
  const now = await store.now(PARTITION);
  const lines = Array.from({ length: 2 * MOST }, (_, n) => `process-${n} 7 ${n % 2 === 0 ? now : now - 2 * HOUR_MS}`);
  await admin.hset(META, 'callers', lines.join('\n'));
  for (const node of ['node-a', 'node-b']) await store.acquire(PARTITION, node, randomUUID(), 60_000);
  const callers = ((await admin.hget(META, 'callers')) ?? '').split('\n').map((line) => line.split(' '));
  assert.equal(callers.length, MOST);
  assert.deepEqual(
    callers.slice(0, -1).map(([name]) => name),
    Array.from({ length: MOST - 1 }, (_, n) => `process-${2 * n + 2}`),
  );
  assert.equal(callers.at(-1)?.[1], '2', 'the last call of this process, which was refused');
});
