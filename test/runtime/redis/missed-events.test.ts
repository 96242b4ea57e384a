import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { startLink } from '../../support/link.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { startSubscriptionProxy } from '../../support/subscription-proxy.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PARTITION: Partition = 'default:1';
const followed = addressOf('thing', 'tenant-a', 'followed');
/** Connections come back within about 2 s; a follower that looks seldom would look after up to 30 s. */
const WOKEN_WITHIN_MS = 10_000;

/** Commits events of the followed actor, one a call; each call returns the number of its event. */
async function emitterOf(holder: RedisActorStore): Promise<() => Promise<number>> {
  const granted = await holder.acquire(PARTITION, 'node-a', randomUUID(), 600_000);
  assert.ok(granted.kind === 'granted');
  let seq = 0;
  return async () => {
    seq += 1;
    const events = [{ address: followed, first: seq, data: ['{}'] }];
    assert.equal((await holder.commit(commitOf(granted.lease, 0, 0, { events }), 0)).kind, 'committed');
    return seq;
  };
}

it('a follower is notified when Redis is back, for events that came while its connections were broken', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const server = await startRedis();
  const link = await startLink(server.port);
  const follower = new RedisActorStore({ urls: `redis://127.0.0.1:${link.port}` });
  const holder = new RedisActorStore({ urls: server.url });
  test.after(async () => {
    await Promise.all([follower.close(), holder.close()]);
    await link.close();
    await server.stop();
  });
  await Promise.all([follower.open(), holder.open()]);
  const emit = await emitterOf(holder);
  let woken = 0;
  let heard = 0;
  follower.onEvents(followed, (news) => {
    woken += 1;
    if (news !== undefined) heard += 1;
  });
  await waitUntil('the follower receives an event', async () => {
    await emit();
    return heard > 0;
  });

  link.refuse();
  await waitUntil('the follower is cut off', () =>
    follower.now().then(
      () => false,
      () => true,
    ),
  );
  const seq = await emit();
  woken = 0;
  link.heal();
  await waitUntil('the follower is woken', async () => woken > 0, WOKEN_WITHIN_MS);
  assert.equal((await follower.readEvents(PARTITION, followed, seq - 1, 1)).length, 1);
});

it('a follower that read before it was subscribed is woken once it is, for events that came between', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const server = await startRedis();
  const proxy = await startSubscriptionProxy(server.port);
  const follower = new RedisActorStore({ urls: `redis://127.0.0.1:${proxy.port}` });
  const holder = new RedisActorStore({ urls: server.url });
  test.after(async () => {
    await Promise.all([follower.close(), holder.close()]);
    await proxy.close();
    await server.stop();
  });
  await Promise.all([follower.open(), holder.open()]);
  const emit = await emitterOf(holder);
  const release = proxy.hold();
  // Two followers share the subscription, and the second one comes while the first one's is under way.
  const woken = [0, 0];
  for (const n of woken.keys()) {
    follower.onEvents(followed, () => {
      woken[n] = (woken[n] ?? 0) + 1;
    });
    assert.deepEqual(await follower.readEvents(PARTITION, followed, 0, 10), []);
  }
  await emit();
  assert.deepEqual(woken, [0, 0], 'the event came before the subscription');
  release();
  await waitUntil('both followers are woken', async () => woken.every((times) => times > 0), WOKEN_WITHIN_MS);
});
