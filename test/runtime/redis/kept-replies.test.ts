import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it, type TestContext } from 'node:test';
import type { Redis } from 'ioredis';
import type { Lease } from '../../../runtime/actor-store.ts';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import type { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { openedStore } from './opened-store.ts';

const PARTITION: Partition = 'default:1';
const KEPT = `{svc:${PARTITION}}:replies`;
const META = `{svc:${PARTITION}}:meta`;
/** Field of the time at which their end was set last. */
const KEPT_AT = 'kept_at';
const MOST_MS = 120_000;

/** Commits one message with its reply; answers how long the kept replies stay, ms. */
async function keptFor(store: RedisActorStore, admin: Redis, lease: Lease<Partition>, cursor: number): Promise<number> {
  const id = randomUUID();
  await store.append(PARTITION, [{ id, to: addressOf('thing', 'acme', 'one'), body: 'x', fresh: true }], 100);
  const replies = [{ session: 'one', messageId: id, body: `answer ${cursor}`, fresh: true }];
  const outcome = await store.commit(commitOf(lease, cursor, cursor + 1, { replies }), 0);
  assert.equal(outcome.kind, 'committed');
  assert.equal(await store.recallReply(PARTITION, id, { seq: cursor + 1 }), `answer ${cursor}`);
  return admin.pttl(KEPT);
}

async function opened(test: TestContext, url?: string) {
  const { admin, store } = await openedStore(test, url);
  const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 60_000);
  assert.ok(granted.kind === 'granted');
  return { admin, store, lease: granted.lease };
}

const skip = redisMissing() ?? false;

const isKept = (leftMs: number): void => assert.ok(leftMs > 0.8 * MOST_MS && leftMs <= MOST_MS, `${leftMs} ms`);

it('replies that are kept for callers who missed them go two minutes after the last one at the latest', {
  skip,
}, async (test) => {
  const { admin, store, lease } = await opened(test);
  for (let cursor = 0; cursor < 3; cursor += 1) isKept(await keptFor(store, admin, lease, cursor));
  // As if two minutes had passed: the stream is a new one.
  await admin.del(KEPT);
  await admin.hincrby(META, KEPT_AT, -MOST_MS);
  isKept(await keptFor(store, admin, lease, 3));
});

it('the end of kept replies is set again when the last time is fifteen seconds old, and when the clock went back', {
  skip,
}, async (test) => {
  const { admin, store, lease } = await opened(test);
  isKept(await keptFor(store, admin, lease, 0));
  for (const [cursor, ageMs, isSet] of [
    [1, 0, false],
    [2, 15_000, true],
    [3, -60_000, true],
  ] as const) {
    await admin.pexpire(KEPT, 50_000);
    await admin.hincrby(META, KEPT_AT, -ageMs);
    const leftMs = await keptFor(store, admin, lease, cursor);
    if (isSet) isKept(leftMs);
    else assert.ok(leftMs <= 50_000, `${leftMs} ms`);
  }
});

it('replies of two stores in one server go by themselves in both', { skip }, async (test) => {
  const server = await startRedis();
  test.after(() => server.stop());
  for (const database of [0, 1]) {
    const { admin, store, lease } = await opened(test, `${server.url}/${database}`);
    isKept(await keptFor(store, admin, lease, 0));
  }
});
