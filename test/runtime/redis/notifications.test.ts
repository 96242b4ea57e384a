import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { Redis } from 'ioredis';
import type { EventAppend } from '../../../runtime/actor-store.ts';
import { addressOf, type Log, type Partition } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { eventually } from '../../contract/store-under-test.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';

const to = addressOf('thing', 'tenant-a', 'one');
const delivery = (body: string) => ({ id: randomUUID(), to, body });

it('a published message that cannot be read is a warning, and later ones are received', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const server = await startRedis();
  const admin = new Redis(server.url);
  const warned: string[] = [];
  const store = new RedisActorStore({ urls: server.url, warn: (warning) => warned.push(warning) });
  test.after(async () => {
    await Promise.all([store.close(), admin.quit()]);
    await server.stop();
  });
  await store.open();
  const news: EventAppend[] = [];
  store.onEvents(to, (append) => append !== undefined && news.push(append));
  const channel = `svc:events:${to}`;
  await eventually('the subscription', async () => (await admin.publish(channel, '1\n1\nx')) > 0);
  await admin.publish(channel, 'many\n1\nx');
  await admin.publish(channel, '2\n1\ny');
  await eventually('the later message', () => news.length === 2);
  assert.deepEqual(
    news.map(({ data }) => data),
    [['x'], ['y']],
  );
  assert.match(warned.join(), /a message on svc:events:thing\/tenant-a\/one could not be read/);
});

it('a node that is notified polls what the server holds, whether or not the notification carried it', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const server = await startRedis();
  test.after(() => server.stop());
  const node = new RedisActorStore({ urls: server.url });
  const client = new RedisActorStore({ urls: server.url });
  test.after(() => Promise.all([node.close(), client.close()]));
  await Promise.all([node.open(), client.open()]);

  const bodies = [
    ['one'],
    ['é 漢字 🦀 \n\n\t "', '', 'three'],
    ['x'.repeat(100_000), 'small'],
    Array.from({ length: 300 }, (_, n) => `entry ${n}`),
  ];
  const rung = new Set<Log>();
  node.onWake('node-a', (partition) => rung.add(partition));
  for (const [n, texts] of bodies.entries()) {
    const partition: Partition = `default:${n}`;
    const granted = await node.acquire(partition, 'node-a', randomUUID(), 60_000);
    assert.ok(granted.kind === 'granted');
    await client.append(partition, texts.map(delivery), 1_000);
    await eventually(`the bell of ${partition} rings`, () => rung.has(partition));
    const heard = await node.poll([{ lease: granted.lease, after: 0 }], 1_000);
    const held = await client.poll([{ lease: granted.lease, after: 0 }], 1_000);
    assert.deepEqual(heard, held);
    assert.deepEqual(
      held[0]?.map((entry) => entry.body),
      texts,
    );
    const limited = await node.poll([{ lease: granted.lease, after: 0 }], 1);
    assert.deepEqual(limited, [held[0]?.slice(0, 1)]);
  }
});
