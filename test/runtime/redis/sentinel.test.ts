import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { eventually } from '../../contract/store-under-test.ts';
import { redisMissing } from '../../support/redis.ts';
import { startRedisSentinel } from '../../support/redis-sentinel.ts';

const partition: Partition = 'default:0';
const to = addressOf('thing', 'tenant-a', 'one');
const delivery = () => ({ id: randomUUID(), to, body: 'hello' });

it('a store found through Sentinel goes on with the new master after a failover', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const servers = await startRedisSentinel();
  test.after(() => servers.stop());
  const store = new RedisActorStore({ urls: servers.url });
  test.after(() => store.close());
  await store.open();
  const rung: string[] = [];
  store.onWake('node-a', (which) => rung.push(which));
  const before = delivery();
  await store.append(partition, [before], 100);
  await servers.master.kill();
  await eventually(
    'an append is accepted by the new master',
    async () => {
      try {
        const [outcome] = await store.append(partition, [delivery()], 100);
        return outcome?.kind === 'accepted';
      } catch (error) {
        if (error instanceof SvcError && error.code === 'unavailable') return false;
        throw error;
      }
    },
    30_000,
  );
  const outcome = await store.acquire(partition, 'node-a', randomUUID(), 60_000);
  assert.equal(outcome.kind, 'granted');
  await eventually('a bell of the new master rings', async () => {
    await store.acquire(partition, 'node-a', randomUUID(), 60_000);
    await store.append(partition, [delivery()], 10_000);
    return rung.length > 0;
  });
});
