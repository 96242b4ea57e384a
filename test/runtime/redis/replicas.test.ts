import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

const missing = redisMissing();

test('with wait_replicas an append is acknowledged once a replica has it, and refused while none has', {
  skip: missing ?? false,
}, async () => {
  const master = await startRedis();
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', `${master.port}`] });
  const store = new RedisActorStore({ urls: master.url, waitReplicas: 1 });
  const copy = new Redis(replica.url);
  copy.on('error', () => {});
  try {
    await store.open();
    await waitUntil('the replica to follow', async () =>
      (await copy.info('replication')).includes('master_link_status:up'),
    );
    const id = randomUUID();
    const delivery = { id, to: 'counter/acme/1' as const, body: '{}' };
    assert.deepEqual(await store.append('default:0', [delivery], 10), [{ kind: 'accepted', seq: 1 }]);
    assert.ok((await copy.keys('*mail*')).length > 0, 'the replica has the mailbox');
    await replica.kill();
    await assert.rejects(store.append('default:0', [{ ...delivery, id: randomUUID() }], 10), {
      code: 'unavailable',
      message: /0 of 1 replicas/,
    });
  } finally {
    copy.disconnect();
    await store.close();
    await replica.stop();
    await master.stop();
  }
});
