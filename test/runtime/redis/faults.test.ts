import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, it, type TestContext } from 'node:test';
import { Redis } from 'ioredis';
import type { Lease } from '../../../runtime/actor-store.ts';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf, eventually } from '../../contract/store-under-test.ts';
import { startLink } from '../../support/link.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';

const partition: Partition = 'default:0';
const address = addressOf('thing', 'tenant-a', 'one');
const delivery = () => ({ id: randomUUID(), to: address, body: 'hello' });
const unavailable = (error: unknown): boolean => error instanceof SvcError && error.code === 'unavailable';

describe('the Redis store and a server in trouble', { skip: redisMissing() ?? false }, () => {
  let server: RedisServer;
  let admin: Redis;
  const opened: RedisActorStore[] = [];

  before(async () => {
    server = await startRedis({ appendfsync: 'always' });
    admin = new Redis(server.url, { retryStrategy: () => 20 });
    admin.on('error', () => {});
  });
  after(async () => {
    for (const store of opened) await store.close();
    admin.disconnect();
    await server.stop();
  });

  async function open(url = server.url): Promise<RedisActorStore> {
    const store = new RedisActorStore({ urls: url, prefix: `f${randomBytes(6).toString('hex')}` });
    opened.push(store);
    await store.open();
    return store;
  }

  /** A store behind a proxy that ends with the test. */
  async function throughProxy(test: TestContext) {
    const proxy = await startLink(server.port);
    test.after(() => proxy.close());
    return { proxy, store: await open(`redis://127.0.0.1:${proxy.port}`) };
  }

  async function lease(store: RedisActorStore): Promise<Lease> {
    const outcome = await store.acquire(partition, 'node-a', randomUUID(), 60_000);
    assert.ok(outcome.kind === 'granted');
    return outcome.lease;
  }

  const back = (store: RedisActorStore): Promise<void> =>
    eventually('the store is connected again', async () => {
      try {
        return (await store.now()) > 0;
      } catch (error) {
        if (unavailable(error)) return false;
        throw error;
      }
    });

  /** Two entries, one commit of each kind of change that must not happen twice. */
  async function setup(store: RedisActorStore) {
    await store.append(partition, [delivery(), delivery()], 10);
    const held = await lease(store);
    const commit = commitOf(held, 0, 1, {
      records: [{ address, record: 'r1' }],
      journal: 'row',
      events: [{ address, first: 1, data: ['e1'] }],
      sends: [{ partition, delivery: delivery() }],
      handled: [{ address, count: 1 }],
    });
    return { held, commit };
  }

  async function writtenOnce(store: RedisActorStore): Promise<void> {
    assert.deepEqual(await store.readEvents(partition, address, 0, 10), [{ seq: 1, data: 'e1' }]);
    assert.equal((await store.readJournal(partition, 0, 10)).length, 1);
    const { cursor, tail } = await store.backlog(partition);
    assert.deepEqual({ cursor, tail }, { cursor: 1, tail: 3 });
    assert.equal(await store.depth(partition, address), 1);
  }

  it('a commit that is repeated is recognised, a copy of it is fenced, neither is written again', async () => {
    const store = await open();
    const { commit } = await setup(store);
    const first = await store.commit(commit, 10);
    const again = await store.commit(commit, 10);
    assert.ok(first.kind === 'committed');
    assert.deepEqual(again, first);
    assert.deepEqual(await store.commit({ ...commit }, 10), { kind: 'fenced' });
    await writtenOnce(store);
  });

  it('a commit that takes nothing from the mailbox is recognised too', async () => {
    const store = await open();
    const held = await lease(store);
    const commit = commitOf(held, 0, 0, { sends: [{ partition, delivery: delivery() }] });
    assert.equal((await store.commit(commit, 0)).kind, 'committed');
    assert.equal((await store.commit(commit, 0)).kind, 'committed');
    assert.equal((await store.backlog(partition)).tail, 1);
  });

  it('a commit whose answer is lost fails as unavailable and is written once when repeated', async (test) => {
    const { proxy, store } = await throughProxy(test);
    const { commit } = await setup(store);
    const lost = proxy.loseNextAnswer();
    await assert.rejects(store.commit(commit, 10), unavailable);
    await lost;
    await back(store);
    assert.equal((await store.commit(commit, 10)).kind, 'committed');
    await writtenOnce(store);
  });

  it('while Redis cannot be reached calls fail at once, and work again when it is back', async (test) => {
    const { proxy, store } = await throughProxy(test);
    const rung: string[] = [];
    await lease(store);
    store.onWake('node-a', (which) => rung.push(which));
    proxy.refuse();
    await eventually('a call fails', async () => {
      const began = performance.now();
      const failed = await store.append(partition, [delivery()], 10).then(() => false, unavailable);
      assert.ok(performance.now() - began < 5_000, 'a call that fails does so in bounded time');
      return failed;
    });
    proxy.heal();
    await back(store);
    const [outcome] = await store.append(partition, [delivery()], 10);
    assert.equal(outcome?.kind, 'accepted');
    await eventually('a bell rings again', async () => {
      await store.commit(commitOf(await lease(store), 0, 0), 0);
      await store.append(partition, [delivery()], 1_000);
      return rung.length > 0;
    });
  });

  it('functions that were flushed are loaded again by the call that misses them', async () => {
    const store = await open();
    await admin.call('FUNCTION', 'FLUSH');
    const calls = Array.from({ length: 20 }, () => store.append(partition, [delivery()], 100));
    assert.equal((await Promise.all(calls)).flat().filter((outcome) => outcome.kind === 'accepted').length, 20);
  });

  it('out of memory is unavailable and leaves nothing half-written; leases go on', async () => {
    const store = await open();
    const { held, commit } = await setup(store);
    const member = { node: 'node-a', incarnation: randomUUID(), card: '{}' };
    assert.equal(await store.announce(member, 60_000, true), true);
    await admin.config('SET', 'maxmemory', '1mb');
    try {
      await assert.rejects(store.append(partition, [delivery()], 10), unavailable);
      await assert.rejects(store.commit(commit, 10), unavailable);
      assert.deepEqual(await store.renew([held], 60_000), []);
      assert.equal(await store.announce(member, 60_000, false), true);
      const [there, ...others] = await store.members();
      assert.deepEqual([{ ...member, remainingMs: there?.remainingMs }, []], [there, others]);
      assert.equal(await store.retire(member.node, member.incarnation), true);
      assert.deepEqual(await store.load(partition, [address]), [null]);
      assert.deepEqual(await store.readEvents(partition, address, 0, 10), []);
      const { cursor, tail } = await store.backlog(partition);
      assert.deepEqual({ cursor, tail }, { cursor: 0, tail: 2 });
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    assert.equal((await store.commit(commit, 10)).kind, 'committed');
    await writtenOnce(store);
  });

  it('a server that became a replica is unavailable until a master is back', async () => {
    const store = await open();
    await admin.call('REPLICAOF', '127.0.0.1', '1');
    try {
      await assert.rejects(store.append(partition, [delivery()], 10), unavailable);
    } finally {
      await admin.call('REPLICAOF', 'NO', 'ONE');
    }
    await back(store);
    assert.equal((await store.append(partition, [delivery()], 10))[0]?.kind, 'accepted');
  });

  it('a server killed and started again has lost nothing it acknowledged', async () => {
    const store = await open();
    const acknowledged: number[] = [];
    let ended = false;
    const writer = (async () => {
      while (!ended) {
        try {
          const outcomes = await store.append(partition, [delivery()], 1_000_000);
          for (const outcome of outcomes) if (outcome.kind === 'accepted') acknowledged.push(outcome.seq);
        } catch (error) {
          assert.ok(unavailable(error));
          ended = true;
        }
      }
    })();
    await eventually('200 appends are acknowledged', () => acknowledged.length >= 200);
    await server.kill();
    await writer;
    await server.restart();
    await back(store);
    const held = await lease(store);
    const entries = (await store.poll([{ lease: held, after: 0 }], 1_000_000))[0] ?? [];
    const stored = new Set(entries.map((entry) => entry.seq));
    assert.deepEqual(
      acknowledged.filter((seq) => !stored.has(seq)),
      [],
    );
  });

  it('seen ids rotate: meta does not grow with them, waiting counts and the lease stay', async () => {
    const store = await open();
    const held = await lease(store);
    const other = addressOf('thing', 'tenant-a', 'other');
    await store.append(partition, [{ ...delivery(), to: other }], 10);
    const batch = () => Array.from({ length: 1_000 }, delivery);
    const last = batch();
    for (let round = 0; round < 9; round += 1) await store.append(partition, batch(), 100_000);
    await store.append(partition, last, 100_000);
    const sizes = await Promise.all((await admin.keys('{f*default:0}:meta')).map((key) => admin.hlen(key)));
    assert.ok(Math.max(...sizes) < 6_000, `meta holds ${Math.max(...sizes)} fields`);
    assert.equal(await store.depth(partition, other), 1);
    assert.equal(await store.depth(partition, address), 10_000);
    assert.deepEqual(await store.renew([held], 1_000), []);
    const repeats = await store.append(partition, last, 100_000);
    assert.ok(repeats.every((outcome) => outcome.kind === 'duplicate'));
  });

  it('the start-up log says what a crash may lose', async () => {
    const store = await open();
    assert.deepEqual(await store.durability(), []);
    await admin.config('SET', 'appendfsync', 'everysec');
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const warnings = await store.durability();
    await admin.config('SET', 'appendfsync', 'always');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    assert.equal(warnings.length, 2);
    assert.match(warnings.join(' '), /appendfsync is everysec.*maxmemory-policy is allkeys-lru/);
  });

  it('a server that is not there makes open fail as unavailable', async () => {
    const store = new RedisActorStore({ urls: 'redis://127.0.0.1:1' });
    await assert.rejects(store.open(), unavailable);
  });
});
