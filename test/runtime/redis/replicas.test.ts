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
    // Reads wait for no replica.
    const { tail } = await store.backlog('default:0');
    assert.equal((await store.readJournal('default:0', 0, 1)).length, 0);
    assert.deepEqual([tail, (await store.readMembers('node-a', '')).members], [2, []]);
  } finally {
    copy.disconnect();
    await store.close();
    await replica.stop();
    await master.stop();
  }
});

test('with wait_replicas a call that loads the functions again is acknowledged once a replica has it', {
  skip: missing ?? false,
}, async () => {
  const master = await startRedis();
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', `${master.port}`] });
  const store = new RedisActorStore({ urls: master.url, waitReplicas: 1 });
  const admin = new Redis(master.url);
  const copy = new Redis(replica.url);
  try {
    await store.open();
    await waitUntil('the replica to follow', async () =>
      (await copy.info('replication')).includes('master_link_status:up'),
    );
    const delivery = () => ({ id: randomUUID(), to: 'counter/acme/1' as const, body: '{}' });
    await store.append('default:0', [delivery()], 10);
    await admin.call('FUNCTION', 'FLUSH');
    await waitUntil('the replica to have all', async () => {
      const info = await admin.info('replication');
      const [, there, at] = /offset=(\d+),lag.*master_repl_offset:(\d+)/s.exec(info) ?? [];
      return there !== undefined && there === at;
    });
    // It is there and answers nothing.
    process.kill(replica.pid, 'SIGSTOP');
    await assert.rejects(store.append('default:0', [delivery()], 10), {
      code: 'unavailable',
      message: /0 of 1 replicas/,
    });
  } finally {
    process.kill(replica.pid, 'SIGCONT');
    admin.disconnect();
    copy.disconnect();
    await store.close();
    await replica.stop();
    await master.stop();
  }
});
