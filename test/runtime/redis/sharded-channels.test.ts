import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { type Address, addressOf, type Partition } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { redisMissing } from '../../support/redis.ts';
import { type RedisClusterServers, startRedisCluster } from '../../support/redis-cluster.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TTL_MS = 600_000;
/** One in each of three slots, which three servers have. */
const PARTITIONS: readonly Partition[] = ['default:0', 'default:1', 'default:2'];

const MOST_BY_LIBRARY = 20;

/** How many subscriptions an `ACL LOG` says were refused. */
const refusalsIn = (log: string): number =>
  [...log.matchAll(/count,(\d+),[^=]*,ssubscribe,/g)].reduce((sum, [, count]) => sum + Number(count), 0);

describe('channels of slots on a Redis Cluster', { skip: redisMissing() ?? false }, () => {
  let servers: RedisClusterServers;
  let direct: Redis[];
  before(async () => {
    servers = await startRedisCluster();
    direct = servers.nodes.map(({ port }) => new Redis({ host: '127.0.0.1', port }));
    // They are killed below.
    for (const one of direct) one.on('error', () => {});
  });
  after(async () => {
    for (const one of direct) one.disconnect();
    await servers.stop();
  });

  const all = (...command: [string, ...string[]]): Promise<string[]> =>
    Promise.all(direct.map(async (one) => String(await one.call(...command))));

  /** A store that follows an actor in each of the partitions, and counts how often it was woken. */
  async function followers(prefix: string) {
    const store = new RedisActorStore({ urls: servers.url, prefix });
    await store.open();
    const following = await Promise.all(
      PARTITIONS.map(async (partition) => {
        const granted = await store.acquire(partition, 'node-a', randomUUID(), TTL_MS);
        assert.ok(granted.kind === 'granted');
        const one = {
          ...granted,
          partition,
          address: addressOf('thing', 'acme', randomUUID()),
          seq: 0,
          woken: 0,
          heard: 0,
        };
        store.onEvents(one.address, (news) => {
          one.woken += 1;
          if (news !== undefined) one.heard += 1;
        });
        return one;
      }),
    );
    const emit = async (one: (typeof following)[number]): Promise<boolean> => {
      const before = one.heard;
      one.seq += 1;
      const events = [{ address: one.address, first: one.seq, data: ['{}'] }];
      const outcome = await store.commit(commitOf(one.lease, one.cursor, one.cursor, { events }), 0).catch(() => null);
      // A server that is away did not take it, or took it: what it has is the truth.
      if (outcome?.kind !== 'committed') {
        const written = await store.readEvents(one.partition, one.address, 0, 10_000).catch(() => null);
        one.seq = written?.at(-1)?.seq ?? one.seq - 1;
        return false;
      }
      await new Promise((resume) => setTimeout(resume, 20));
      return one.heard > before;
    };
    const hear = (why: string) =>
      Promise.all(
        following.map((one) =>
          waitUntil(`the follower in ${one.partition} to receive its event ${why}`, () => emit(one)),
        ),
      );
    return { store, following, hear };
  }

  test('notifications of commits and appends go to the server of their slot alone', async () => {
    const { store, following, hear } = await followers('sharded');
    const heard = { bells: 0, replies: new Set<string>(), cancels: new Set<string>() };
    store.onWake('node-a', () => {
      heard.bells += 1;
    });
    store.onReply('session', (id) => heard.replies.add(id));
    store.onEffectCancelled((id) => heard.cancels.add(id));
    await hear('at the start');
    await all('CONFIG', 'RESETSTAT');
    await hear('of its event');
    const to: Address = addressOf('thing', 'acme', 'asked');
    for (const { partition, lease, cursor } of following) {
      const [id, effect] = [randomUUID(), randomUUID()];
      const bells = heard.bells;
      await store.append(partition, [{ id, to, body: 'asked' }], 100);
      await waitUntil(`the wake-up of ${partition}`, () => heard.bells > bells);
      const replies = [{ session: 'session', messageId: id, body: '{}' }];
      const done = await store.commit(commitOf(lease, cursor, cursor + 1, { replies, effectsCancelled: [effect] }), 0);
      assert.equal(done.kind, 'committed');
      await waitUntil('its reply and its cancel', () => heard.replies.has(id) && heard.cancels.has(effect));
    }
    const stats = (await all('INFO', 'commandstats')).join('\n');
    assert.doesNotMatch(stats, /cmdstat_publish:/, 'a plain message would be carried to all servers');
    assert.match(stats, /cmdstat_spublish:/);
    await store.close();
  });

  test('a follower whose connections are cut is notified of what it missed, and subscribes again', async () => {
    const { store, following, hear } = await followers('cut');
    await hear('at the start');
    for (const one of following) one.woken = 0;
    await all('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await waitUntil('all are woken, for what they may have missed', () => following.every(({ woken }) => woken > 0));
    await hear('after the cut');
    await store.close();
  });

  test('a follower receives events again when the servers refused its subscriptions for a while after a cut', async () => {
    const { store, hear } = await followers('refused');
    await hear('at the start');
    const carrying = await all('PUBSUB', 'SHARDCHANNELS');
    await all('ACL', 'SETUSER', 'default', '-ssubscribe');
    await all('CLIENT', 'KILL', 'TYPE', 'pubsub');
    // The library alone makes some requests while it connects, and none later.
    await waitUntil('each server that carried a channel refuses again and again', async () => {
      const logs = await all('ACL', 'LOG');
      return carrying.every((channels, n) => channels === '' || refusalsIn(logs[n] ?? '') >= MOST_BY_LIBRARY);
    });
    await all('ACL', 'SETUSER', 'default', '+ssubscribe');
    await hear('after the refusal');
    await store.close();
  });

  test('a follower receives events again when the servers were killed and are back', async () => {
    const { store, hear } = await followers('killed');
    await hear('at the start');
    await servers.restart();
    await hear('after the restart');
    await store.close();
  });

  test('a follower receives events again when its slot has moved to another server', async () => {
    const { store, hear } = await followers('moved');
    await hear('at the start');
    await moveSlot('{moved:t0}');
    await hear('after the move');
    await store.close();
  });

  /** To another of the three, with all its keys. */
  async function moveSlot(tag: string): Promise<void> {
    const [slot = ''] = await all('CLUSTER', 'KEYSLOT', tag);
    const ids = await all('CLUSTER', 'MYID');
    const owns = await Promise.all(direct.map(async (one) => String(await one.call('CLUSTER', 'NODES'))));
    const from = owns.findIndex((nodes) => {
      const ranges = /myself.*connected (.*)/.exec(nodes)?.[1]?.split(' ') ?? [];
      return ranges.some((range) => {
        const [low = '', high = low] = range.split('-');
        return Number(low) <= Number(slot) && Number(slot) <= Number(high);
      });
    });
    const into = (from + 1) % direct.length;
    const [source, target] = [direct[from], direct[into]];
    assert.ok(source && target);
    await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[from] ?? '');
    await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[into] ?? '');
    for (;;) {
      const keys = z.array(z.string()).parse(await source.call('CLUSTER', 'GETKEYSINSLOT', slot, '100'));
      if (keys.length === 0) break;
      const port = String(servers.nodes[into]?.port);
      await source.call('MIGRATE', '127.0.0.1', port, '', '0', '5000', 'KEYS', ...keys);
    }
    await all('CLUSTER', 'SETSLOT', slot, 'NODE', ids[into] ?? '');
  }
});
