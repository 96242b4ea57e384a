import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { Redis } from 'ioredis';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { startRedisCluster } from '../../support/redis-cluster.ts';
import { startSubscriptionProxy } from '../../support/subscription-proxy.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PARTITION: Partition = 'default:1';
const COMMITS = 10;
/** What one commit waited for a subscription without an answer. */
const SETTLE_MS = 500;

async function single() {
  const server = await startRedis();
  const proxy = await startSubscriptionProxy(server.port);
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    wires: [proxy],
    async stop() {
      await proxy.close();
      await server.stop();
    },
  };
}

for (const { name, start } of [
  { name: 'one Redis', start: single },
  { name: 'a Redis Cluster', start: () => startRedisCluster({ wire: startSubscriptionProxy }) },
]) {
  it(`a subscription connection that fell silent delays no commit, and is replaced (${name})`, {
    skip: redisMissing() ?? false,
  }, async (test) => {
    const servers = await start();
    const store = new RedisActorStore({ urls: servers.url });
    test.after(async () => {
      await store.close();
      await servers.stop();
    });
    await store.open();
    const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 600_000);
    assert.ok(granted.kind === 'granted');
    const { lease } = granted;
    const followed = addressOf('thing', 'tenant-a', 'followed');
    let seq = 0;
    let heard = 0;
    const emit = async () => {
      seq += 1;
      const events = [{ address: followed, first: seq, data: ['{}'] }];
      assert.equal((await store.commit(commitOf(lease, 0, 0, { events }), 0)).kind, 'committed');
    };
    store.onEvents(followed, (news) => {
      if (news !== undefined) heard += 1;
    });
    await waitUntil('the follower to receive an event', async () => {
      await emit();
      return heard > 0;
    });

    for (const wire of servers.wires) wire.silence();
    const took: number[] = [];
    for (let n = 0; n < COMMITS; n++) {
      // A new follower subscribes, and no answer comes.
      store.onEvents(addressOf('thing', 'tenant-a', `late-${n}`), () => {});
      const began = performance.now();
      await emit();
      took.push(Math.round(performance.now() - began));
    }
    // A busy machine may delay some of them; a wait for the subscription delays each.
    assert.ok(Math.min(...took) < SETTLE_MS / 2, `commits took ${took.join(', ')} ms`);
    heard = 0;
    await waitUntil('the follower to receive an event again', async () => {
      await emit();
      return heard > 0;
    });
  });
}

it('a store that is closed while its connection subscribes again leaves no rejected promise', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  process.on('unhandledRejection', note);
  const server = await startRedis();
  const proxy = await startSubscriptionProxy(server.port);
  const admin = new Redis(server.url);
  test.after(async () => {
    process.off('unhandledRejection', note);
    admin.disconnect();
    await proxy.close();
    await server.stop();
  });
  const store = new RedisActorStore({ urls: `redis://127.0.0.1:${proxy.port}` });
  await store.open();
  store.onEvents(addressOf('thing', 'tenant-a', 'followed'), () => {});
  await waitUntil('the subscription', async () => (await admin.pubsub('CHANNELS', '*')).length > 0);
  const again = proxy.dropSubscribe();
  await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await again;
  await store.close();
  // Rejections without a handler are reported after the tick in which they come.
  await new Promise((resume) => setImmediate(resume));
  assert.deepEqual(rejections, []);
});
