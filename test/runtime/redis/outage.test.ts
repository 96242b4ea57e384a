import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { Redis } from 'ioredis';
import type { EffectMode, Lease } from '../../../runtime/actor-store.ts';
import { addressOf, type Partition, type SharedLog } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf, eventually } from '../../contract/store-under-test.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TERM_MS = 1_500;
/** Longer than the store may be silent before that is an outage. */
const AWAY_MS = 3_000;
const partition: Partition = 'default:0';
const to = addressOf('thing', 'tenant-a', 'one');

interface Setup {
  readonly server: RedisServer;
  readonly store: RedisActorStore;
}

/** What a node that works holds: its node lease, a partition lease, claims of two effects. */
interface Holder {
  readonly node: string;
  readonly lease: Lease;
  readonly effects: Record<EffectMode, string>;
}

async function setup(use: (setup: Setup) => Promise<void>): Promise<void> {
  const server = await startRedis();
  const store = new RedisActorStore({ urls: server.url });
  try {
    await store.open();
    await use({ server, store });
  } finally {
    await store.close();
    await server.stop();
  }
}

const member = (node: string) => ({ node, incarnation: `${node}-1`, card: '{}' });

async function holds({ store }: Setup, node: string): Promise<Holder> {
  assert.equal(await store.announce(member(node), TERM_MS, true), true);
  const got = await store.acquire(partition, node, randomUUID(), TERM_MS);
  assert.ok(got.kind === 'granted');
  const effects = { once: randomUUID(), repeatable: randomUUID() };
  const open = (['once', 'repeatable'] as const).map((mode) => ({
    ...{ id: effects[mode], queue: 'q', address: to, mode, body: 'do' },
  }));
  await store.commit(commitOf(got.lease, 0, 0, { effectsOpened: open }), 0);
  for (const id of Object.values(effects)) {
    assert.equal((await store.claimEffect(partition, id, `${node}/${node}-1`, TERM_MS)).kind, 'claimed');
  }
  return { node, lease: got.lease, effects };
}

/** What a node that comes back first finds. */
async function found({ store }: Setup, { effects }: Holder) {
  const lease = await store.acquire(partition, 'node-first', randomUUID(), TERM_MS);
  if (lease.kind === 'granted') await store.vouch(lease.lease);
  const claims = await Promise.all(
    Object.values(effects).map((id) => store.claimEffect(partition, id, 'node-first/1', TERM_MS)),
  );
  const members = (await store.members()).map(({ node }) => node).filter((node) => node !== 'node-first');
  return { members, lease: lease.kind, claims: claims.map(({ kind }) => kind) };
}

const answers = ({ store }: Setup): Promise<boolean> =>
  store.now().then(
    () => true,
    () => false,
  );

const outages: Record<string, (setup: Setup) => Promise<void>> = {
  'killed, away for longer than a lease, and started again': async ({ server }) => {
    await server.kill();
    await passed(AWAY_MS);
    await server.restart();
  },
  'stopped for longer than a lease': async ({ server }) => {
    process.kill(server.pid, 'SIGSTOP');
    await passed(AWAY_MS);
    process.kill(server.pid, 'SIGCONT');
  },
  'read-only for longer than a lease': async ({ server }) => {
    const admin = new Redis(server.url);
    await admin.call('REPLICAOF', '127.0.0.1', '1');
    await passed(AWAY_MS);
    await admin.call('REPLICAOF', 'NO', 'ONE');
    admin.disconnect();
  },
};

function passed(ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  return waitUntil(`${ms} ms have passed`, () => performance.now() > end);
}

describe('a Redis that was away', { skip: redisMissing() ?? false, timeout: 300_000, concurrency: 2 }, () => {
  for (const [what, away] of Object.entries(outages)) {
    it(`${what}: leases and claims that were valid hold for one more term, and then expire`, () =>
      setup(async (set) => {
        const holder = await holds(set, 'node-a');
        await away(set);
        await eventually('the store answers', () => answers(set));
        assert.equal(await set.store.announce(member('node-first'), TERM_MS, true), true);
        const first = await found(set, holder);
        assert.deepEqual(first.members, ['node-a']);
        assert.deepEqual([first.lease, ...first.claims], ['held', 'busy', 'busy']);
        // It is dead after all: what it held is free one term later, though it never came back.
        await passed(TERM_MS + 50);
        const then = await found(set, holder);
        assert.deepEqual(then.members, []);
        assert.deepEqual([then.lease, ...then.claims], ['granted', 'in_doubt', 'claimed']);
      }));
  }

  it('an outage of the store does not revive a node that had died before', () =>
    setup(async (set) => {
      await set.store.announce(member('node-dead'), 40, true);
      await set.store.announce(member('node-a'), TERM_MS, true);
      await passed(100);
      await set.store.announce(member('node-a'), TERM_MS, false);
      for (const away of Object.values(outages)) {
        await away(set);
        await eventually('the store answers', () => answers(set));
        assert.deepEqual(
          (await set.store.members()).map(({ node }) => node),
          ['node-a'],
        );
        assert.equal(await set.store.announce(member('node-a'), TERM_MS, false), true);
        assert.deepEqual(
          (await set.store.members()).map(({ node }) => node),
          ['node-a'],
          'the renewal of the others does not revive it either',
        );
      }
    }));

  it('while one node still writes, another that is silent keeps its leases for its own term only', () =>
    setup(async (set) => {
      const holder = await holds(set, 'node-a');
      const end = performance.now() + TERM_MS + 50;
      await waitUntil('a term has passed', async () => {
        await set.store.announce(member('node-first'), TERM_MS, true);
        return performance.now() > end;
      });
      const then = await found(set, holder);
      assert.deepEqual([...then.members, then.lease, ...then.claims], ['granted', 'in_doubt', 'claimed']);
    }));

  it('a lease from before a restart of the server is lost, and granted again for a check first', () =>
    setup(async (set) => {
      const { lease, effects } = await holds(set, 'node-a');
      await set.store.commit(commitOf(lease, 0, 0, { records: [{ address: to, record: 'running' }] }), 0);
      assert.deepEqual(await set.store.renew([lease], TERM_MS), []);
      await set.server.restart();
      await eventually('the store answers', () => answers(set));
      assert.deepEqual(await set.store.renew([lease], TERM_MS), [lease]);
      const got = await set.store.acquire(partition, 'node-a', randomUUID(), 60_000);
      assert.ok(got.kind === 'granted' && got.mayBeOlder);
      const claim = () => set.store.claimEffect(partition, effects.repeatable, 'node-a/later', 60_000);
      assert.equal((await claim()).kind, 'busy', 'nothing is run before that');
      assert.deepEqual(await set.store.recorded(partition), [to]);
      assert.deepEqual(await set.store.renew([got.lease], 60_000), []);
      assert.equal(await set.store.vouch(lease), false);
      assert.equal(await set.store.vouch(got.lease), true);
      assert.equal((await claim()).kind, 'claimed');
      const again = await set.store.acquire(partition, 'node-a', randomUUID(), 60_000);
      assert.ok(again.kind === 'granted' && !again.mayBeOlder, 'once in a life of the server');
      const admin = new Redis(set.server.url);
      await admin.call('FUNCTION', 'FLUSH');
      admin.disconnect();
      assert.deepEqual(await set.store.renew([again.lease], 60_000), [], 'the same life without its functions');
    }));

  it('partitions of an adopted log are checked with it, and not again when they are acquired', () =>
    setup(async (set) => {
      const { lease, effects } = await holds(set, 'node-a');
      await set.store.commit(commitOf(lease, 0, 0, { records: [{ address: to, record: 'running' }] }), 0);
      const logs = set.store.sharedLogs ?? assert.fail('the store has shared logs');
      const log: SharedLog = `log-${randomUUID()}`;
      const made = await logs.make(log, 'node-a', randomUUID(), TERM_MS, [partition]);
      assert.ok(made !== null && lease.log === partition);
      assert.deepEqual(await logs.join(made.lease, [{ ...lease, log: partition }]), ['joined']);
      await set.server.restart();
      await eventually('the store answers', () => answers(set));
      const adopted = await logs.adopt(log, 'node-b', randomUUID(), 60_000, made.lease.grant);
      assert.ok(adopted.kind === 'granted' && adopted.mayBeOlder);
      const claim = () => set.store.claimEffect(partition, effects.repeatable, 'node-a/later', 60_000);
      assert.equal((await claim()).kind, 'busy', 'nothing is run before that');
      assert.equal(await set.store.vouch(adopted.lease), true);
      assert.equal((await claim()).kind, 'claimed');
      const taken = await set.store.acquire(partition, 'node-b', randomUUID(), 60_000);
      assert.ok(taken.kind === 'granted' && !taken.mayBeOlder);
    }));

  it('the ends of processes are distinguished: one that was retired or replaced has ended, a silent one may not have', () =>
    setup(async ({ store }) => {
      await store.announce(member('node-a'), 40, true);
      await passed(60);
      assert.deepEqual(await store.members(), []);
      assert.equal(await store.isKnown('node-a', 'node-a-1'), true);
      await store.announce({ ...member('node-a'), incarnation: 'later' }, 40, true);
      assert.equal(await store.isKnown('node-a', 'node-a-1'), false);
      assert.equal(await store.retire('node-a', 'later'), true);
      assert.equal(await store.isKnown('node-a', 'later'), false);
    }));
});
