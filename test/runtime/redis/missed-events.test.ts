import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { startLink } from '../../support/link.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PARTITION: Partition = 'default:1';
const followed = addressOf('thing', 'tenant-a', 'followed');
/** Connections come back within about 2 s; a follower that looks seldom would look after up to 30 s. */
const WOKEN_WITHIN_MS = 10_000;

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
  const granted = await holder.acquire(PARTITION, 'node-a', randomUUID(), 600_000);
  assert.ok(granted.kind === 'granted');
  let seq = 0;
  const emit = async (): Promise<void> => {
    seq += 1;
    const events = [{ address: followed, first: seq, data: ['{}'] }];
    assert.equal((await holder.commit(commitOf(granted.lease, 0, 0, { events }), 0)).kind, 'committed');
  };
  let woken = 0;
  follower.onEvents(followed, () => {
    woken += 1;
  });
  await waitUntil('the follower hears of an event', async () => {
    await emit();
    return woken > 0;
  });

  link.refuse();
  await waitUntil('the follower is cut off', () =>
    follower.now().then(
      () => false,
      () => true,
    ),
  );
  await emit();
  woken = 0;
  link.heal();
  await waitUntil('the follower is woken', async () => woken > 0, WOKEN_WITHIN_MS);
  assert.equal((await follower.readEvents(PARTITION, followed, seq - 1, 1)).length, 1);
});
