import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { addressOf } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { slotOf } from '../../../runtime/redis/slot-channels.ts';
import { redisMissing } from '../../support/redis.ts';
import { type RedisClusterServers, startRedisCluster } from '../../support/redis-cluster.ts';
import { type SubscriptionProxy, startSubscriptionProxy } from '../../support/subscription-proxy.ts';
import { waitUntil } from '../../support/wait-until.ts';

const FOLLOWERS = 30;
/** Each follower has one channel in each of them. */
const SLOTS = 16;
const ROUNDS = 10;

const callsOf = (command: string, stats: string): number =>
  Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);

describe('a server of a Redis Cluster whose subscriptions are lost', { skip: redisMissing() ?? false }, () => {
  let servers: RedisClusterServers<SubscriptionProxy>;
  let direct: Redis[];
  before(async () => {
    servers = await startRedisCluster({ wire: startSubscriptionProxy });
    direct = servers.nodes.map(({ port }) => new Redis({ host: '127.0.0.1', port }));
  });
  after(async () => {
    for (const one of direct) one.disconnect();
    await servers.stop();
  });

  /** A store with followers that count how often they were woken. No event is ever committed. */
  async function followers(prefix: string) {
    const warned: string[] = [];
    const store = new RedisActorStore({ urls: servers.url, prefix, warn: (warning) => warned.push(warning) });
    await store.open();
    const woken = Array.from({ length: FOLLOWERS }, () => 0);
    for (const n of woken.keys()) {
      store.onEvents(addressOf('thing', 'acme', randomUUID()), () => {
        woken[n] = (woken[n] ?? 0) + 1;
      });
    }
    await waitUntil('all are subscribed', () => woken.every((times) => times === 1));
    woken.fill(0);
    /** How many channels each server carries. */
    const carried = async () => {
      const channels = await Promise.all(direct.map((one) => one.call('PUBSUB', 'SHARDCHANNELS', `*${prefix}:*`)));
      return channels.map((found) => (Array.isArray(found) ? found.length : 0));
    };
    return { store, woken, warned, carried };
  }

  test('only its channels are requested again, once, and each follower is woken once', async (run) => {
    const { store, woken, carried } = await followers('once');
    run.after(() => store.close());
    const [lost, ...others] = direct;
    const [before = 0] = await carried();
    assert.ok(lost !== undefined && before > 0);
    for (let round = 1; ; round += 1) {
      woken.fill(0);
      await Promise.all(direct.map((one) => one.config('RESETSTAT')));
      await lost.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await waitUntil('all are woken', () => woken.every((times) => times > 0));
      await waitUntil('the server carries the channels again', async () => (await carried())[0] === before);
      // A slot that is half a second later than another one is reported by itself: the machine was slow in this round.
      if (round === ROUNDS || woken.every((times) => times === 1)) break;
    }
    const stats = await Promise.all([lost, ...others].map((one) => one.info('commandstats')));
    // The client library requests the channels of each slot from each server, in one command.
    const [again = 0, ...elsewhere] = stats.map((text) => callsOf('ssubscribe', text));
    assert.ok(again <= 2 * SLOTS, `${again} requests at the server that was lost`);
    for (const calls of elsewhere) assert.ok(calls <= SLOTS, `${calls} requests at another server`);
    assert.deepEqual([...new Set(woken)], [1]);
  });

  test('the slot of a name is the one that Redis computes', async () => {
    for (const name of ['', 'a', 'svc:facts', '{svc:t7}:events:thing/acme/é', 'a{}b', 'a{b', '{{a}}b', 'a{b}{c}']) {
      assert.equal(slotOf(name), await direct[0]?.call('CLUSTER', 'KEYSLOT', name), name);
    }
  });

  test('its followers wait for no other server that does not answer', async (run) => {
    const { store, woken, warned } = await followers('apart');
    run.after(() => store.close());
    const [silent] = servers.wires;
    silent?.silence();
    await direct[1]?.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await waitUntil('all are woken', () => woken.every((times) => times > 0));
    assert.doesNotMatch(warned.join(), /renewed/, 'they were woken only when the silent connection was given up');
  });
});
