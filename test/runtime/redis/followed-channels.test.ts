import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { type Address, addressOf } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

const fresh = (): Address => addressOf('thing', 'acme', randomUUID());

describe('channels of followers on Redis', { skip: redisMissing() ?? false }, () => {
  let server: RedisServer;
  let admin: Redis;
  before(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
  });
  after(async () => {
    await admin.quit();
    await server.stop();
  });

  async function opened(test: { after(end: () => Promise<void>): void }): Promise<RedisActorStore> {
    const store = new RedisActorStore({ urls: server.url });
    test.after(() => store.close());
    await store.open();
    return store;
  }

  const channels = async (): Promise<number> => (await admin.pubsub('CHANNELS', 'svc:events:*')).length;
  const calls = async (command: string): Promise<number> =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await admin.info('commandstats'))?.[1] ?? 0);

  it('those that are followed in one turn are joined with one request, and left with one', async (test) => {
    const store = await opened(test);
    const [joins, leaves] = [await calls('subscribe'), await calls('unsubscribe')];
    let placed = 0;
    const note = (): void => {
      placed += 1;
    };
    const all = Array.from({ length: 50 }, () => store.onEvents(fresh(), note));
    assert.ok(all.every(({ isPending }) => isPending));
    await waitUntil('all to be in place', () => placed === all.length);
    assert.equal(await channels(), 50);
    assert.equal((await calls('subscribe')) - joins, 1);
    for (const leave of all) leave();
    await waitUntil('all to be left', async () => (await channels()) === 0);
    assert.equal((await calls('unsubscribe')) - leaves, 1);
  });

  it('one that is followed again before it was left is in place at once', async (test) => {
    const store = await opened(test);
    const to = fresh();
    let placed = 0;
    const first = store.onEvents(to, () => {
      placed += 1;
    });
    await waitUntil('the subscription', () => placed === 1);
    first();
    const heard: string[] = [];
    const second = store.onEvents(to, (news) => heard.push(...(news?.data ?? ['missed'])));
    assert.equal(second.isPending, false);
    await admin.publish(`svc:events:${to}`, '1\n1\nx');
    await waitUntil('the event', () => heard.length > 0);
    assert.deepEqual(heard, ['x']);
    assert.equal(placed, 1);
    second();
    await waitUntil('the channel to be left', async () => (await channels()) === 0);
  });
});
