import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { Redis } from 'ioredis';
import type { Commit, Lease } from '../../../runtime/actor-store.ts';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import type { MailboxEntry } from '../../../runtime/message.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { at, commitOf, eventually } from '../../contract/store-under-test.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';
import { startRedisWire } from '../../support/redis-wire.ts';

const partition: Partition = 'default:0';
const to = addressOf('thing', 'tenant-a', 'one');

/** As after a power failure: what was written since the last `save` is gone when the server starts again. */
const FORGETFUL = { args: ['--appendonly', 'no'] };

class Setup {
  readonly server: RedisServer;
  readonly store: RedisActorStore;
  readonly lease: Lease;

  constructor(server: RedisServer, store: RedisActorStore, lease: Lease) {
    this.server = server;
    this.store = store;
    this.lease = lease;
  }

  async append(...bodies: string[]): Promise<void> {
    const outcomes = await this.store.append(
      partition,
      bodies.map((body) => ({ id: randomUUID(), to, body })),
      100,
    );
    for (const outcome of outcomes) assert.equal(outcome.kind, 'accepted');
  }

  async read(after = 0): Promise<MailboxEntry[]> {
    return at(await this.store.poll([{ lease: this.lease, after }], 100), 0) ?? [];
  }

  async save(): Promise<void> {
    const admin = new Redis(this.server.url);
    await admin.save();
    admin.disconnect();
  }

  async fail(): Promise<void> {
    await this.server.restart();
    await eventually('the store is connected again', () =>
      this.store.now().then(
        () => true,
        () => false,
      ),
    );
  }
}

async function setup(use: (setup: Setup) => Promise<void>): Promise<void> {
  const server = await startRedis(FORGETFUL);
  const store = new RedisActorStore({ urls: server.url });
  try {
    await store.open();
    const got = await store.acquire(partition, 'node-a', randomUUID(), 600_000);
    assert.ok(got.kind === 'granted');
    await use(new Setup(server, store, got.lease));
  } finally {
    await store.close();
    await server.stop();
  }
}

/** A batch of turns over the entries, as the kernel commits it. */
function handled(lease: Lease, entries: readonly MailboxEntry[], after = 0): Commit {
  const last = at(entries, entries.length - 1);
  const record = entries.map((entry) => entry.body).join(' ');
  return { ...commitOf(lease, after, last.seq, { records: [{ address: to, record }] }), upToAt: last.at };
}

describe('a Redis that came back without its last second', { skip: redisMissing() ?? false, timeout: 300_000 }, () => {
  it('a rolled-back server takes no commit over entries that it lost', () =>
    setup(async (set) => {
      await set.save();
      await set.append('lost 1', 'lost 2');
      const stale = handled(set.lease, await set.read());
      await set.fail();
      await set.append('new 1', 'new 2');
      assert.deepEqual(await set.store.commit(stale, 0), { kind: 'fenced' });
      assert.equal((await set.store.backlog(partition)).cursor, 0);
      const again = await set.store.acquire(partition, 'node-a', randomUUID(), 600_000);
      assert.ok(again.kind === 'granted');
      const fresh = new Setup(set.server, set.store, again.lease);
      const entries = await fresh.read();
      assert.deepEqual(
        entries.map((entry) => entry.body),
        ['new 1', 'new 2'],
      );
      assert.equal((await set.store.commit(handled(again.lease, entries), 0)).kind, 'committed');
      assert.deepEqual(await set.store.load(partition, [to]), ['new 1 new 2']);
    }));

  it('a rolled-back server takes commits over entries that it kept, and then none over the lost ones', () =>
    setup(async (set) => {
      await set.append('kept');
      await set.save();
      await set.append('lost');
      const [kept, lost] = await set.read();
      assert.ok(kept && lost);
      await set.fail();
      await set.append('new');
      assert.equal((await set.store.commit(handled(set.lease, [kept]), 0)).kind, 'committed');
      assert.deepEqual(await set.store.commit(handled(set.lease, [lost], 1), 0), { kind: 'fenced' });
      assert.deepEqual(
        await set.store.poll([{ lease: set.lease, after: 1 }], 100),
        [null],
        'its holder is to start anew',
      );
      assert.deepEqual(await set.store.renew([set.lease], 600_000), [set.lease]);
      const again = await set.store.acquire(partition, 'node-a', randomUUID(), 600_000);
      assert.ok(again.kind === 'granted');
      assert.deepEqual(
        (await new Setup(set.server, set.store, again.lease).read(1)).map((entry) => entry.body),
        ['new'],
      );
    }));

  it('a message that another partition is owed comes once, when a late copy from before the return comes too', async () => {
    const server = await startRedis(FORGETFUL);
    const wire = await startRedisWire(server.port, () => 1);
    const store = new RedisActorStore({ urls: `redis://127.0.0.1:${wire.port}` });
    const [source, target]: Partition[] = ['default:0', 'default:1'];
    assert.ok(source && target);
    const taken = async (name: Partition): Promise<Lease<Partition>> => {
      const got = await store.acquire(name, 'node-a', randomUUID(), 600_000);
      assert.ok(got.kind === 'granted');
      return got.lease;
    };
    try {
      await store.open();
      const lease = await taken(source);
      await store.append(source, [{ id: randomUUID(), to, body: 'ask' }], 100);
      const set = new Setup(server, store, lease);
      await set.save();
      // The turn of `ask` sends the same message in each life, since ids follow from what it handles.
      const sends = [{ partition: target, delivery: { id: 'one', to, body: 'sent' } }];
      const commit = (by: Lease) => store.commit(commitOf(by, 0, 1, { sends }), 0);
      assert.equal((await commit(lease)).kind, 'committed');
      const copies = wire.record();
      await store.flushOutbox(lease);
      const comeLate = copies.stop();
      await set.fail();
      await comeLate();
      const again = await taken(source);
      assert.equal((await commit(again)).kind, 'committed');
      assert.equal(await store.flushOutbox(again), false);
      const [entries] = await store.poll([{ lease: await taken(target), after: 0 }], 100);
      assert.deepEqual(
        entries?.map(({ body }) => body),
        ['sent'],
      );
    } finally {
      await store.close();
      await wire.close();
      await server.stop();
    }
  });

  it('a restarted server recognises a repeated commit that it had', () =>
    setup(async (set) => {
      await set.append('one');
      const commit = handled(set.lease, await set.read());
      assert.equal((await set.store.commit(commit, 0)).kind, 'committed');
      await set.save();
      await set.fail();
      assert.equal((await set.store.commit(commit, 0)).kind, 'committed');
      assert.deepEqual(await set.store.load(partition, [to]), ['one']);
    }));
});
