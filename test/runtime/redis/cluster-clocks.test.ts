import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { Redis } from 'ioredis';
import { addressOf, partitionsOf } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { redisMissing } from '../../support/redis.ts';
import { startRedisCluster } from '../../support/redis-cluster.ts';
import { startRedisWire } from '../../support/redis-wire.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PARTITIONS = 24;
const TIMER_MS = 50;

it('on a Cluster a partition gets the time of its own master, which decides about its lease and its timers', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const asked: { readonly port: number; readonly called: string }[] = [];
  const wire = (port: number) =>
    startRedisWire(port, Math.random, (name) => {
      asked.push({ port, called: name.replace(/^svc_v\d+_[0-9a-f]+_/, '') });
      return true;
    });
  const cluster = await startRedisCluster({ wire });
  const masters = cluster.nodes.map(({ port }) => ({ port, client: new Redis({ host: '127.0.0.1', port }) }));
  const store = new RedisActorStore({ urls: cluster.url });
  test.after(async () => {
    for (const { client } of masters) client.disconnect();
    await store.close();
    await cluster.stop();
  });
  await store.open();
  const seen = new Set<number>();
  for (const partition of partitionsOf({ pool: 'default', partitions: PARTITIONS })) {
    asked.length = 0;
    const granted = await store.acquire(partition, 'node-a', randomUUID(), 600_000);
    assert.ok(granted.kind === 'granted');
    const { lease } = granted;
    const delivery = { id: randomUUID(), to: addressOf('thing', 'tenant-a', 'one'), body: 'due' };
    const timersSet = [{ id: 'tick', afterMs: TIMER_MS, delivery }];
    const committed = await store.commit(commitOf(lease, 0, 0, { timersSet }), 0);
    assert.ok(committed.kind === 'committed');
    const dueAt = committed.at + TIMER_MS;
    await waitUntil('the timer is due by the time that its partition gets', async () => {
      const now = await store.now(partition);
      assert.ok(now >= committed.at, `${now} is before the commit at ${committed.at}`);
      return now >= dueAt;
    });
    assert.deepEqual(await store.fireTimers([lease]), [null], 'what is due by that time fires');
    // Which master has the partition is asked of the masters, not of the store.
    const keys = await Promise.all(masters.map(({ client }) => client.keys(`{svc:t*}:${partition}:*`)));
    const owner = masters[keys.findIndex((found) => found.length > 0)];
    assert.ok(owner, 'a master has the partition');
    seen.add(owner.port);
    assert.ok(asked.some(({ called }) => called === 'now'));
    assert.deepEqual([...new Set(asked.map(({ port }) => port))], [owner.port], 'no other master was asked');
  }
  assert.equal(seen.size, masters.length, 'every master has some of the partitions');
});
