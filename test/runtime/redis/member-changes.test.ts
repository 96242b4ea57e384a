import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { type Member, membersAfter } from '../../../runtime/members.ts';
import { Keys } from '../../../runtime/redis/keys.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { eventually } from '../../contract/store-under-test.ts';
import { seeded } from '../../support/faulty-store.ts';
import { type RedisServer, type RedisServerOptions, redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TERM_MS = 1_500;
const LONG_MS = 600_000;
/** Longer than the store may be silent before that is an outage. */
const AWAY_MS = 3_000;
/** Changes that the store remembers (functions/_member_rows.lua). */
const KEPT_CHANGES = 4_096;

/** `SVC_SEED` repeats a run. */
const SEED = Number(process.env.SVC_SEED ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = 150;

const keys = new Keys('svc');
const member = (node: string, card = '{}'): Member => ({ node, incarnation: `${node}-1`, card });

interface Setup {
  readonly server: RedisServer;
  readonly store: RedisActorStore;
  readonly admin: Redis;
}

async function setup(use: (setup: Setup) => Promise<void>, options: RedisServerOptions = {}): Promise<void> {
  const server = await startRedis(options);
  const store = new RedisActorStore({ urls: server.url });
  const admin = new Redis(server.url);
  admin.on('error', () => {});
  try {
    await store.open();
    await use({ server, store, admin });
  } finally {
    await store.close();
    admin.disconnect();
    await server.stop();
  }
}

const answers = ({ store }: Setup): Promise<boolean> =>
  store.now().then(
    () => true,
    () => false,
  );

const passed = (ms: number): Promise<boolean> => {
  const end = performance.now() + ms;
  return waitUntil(`${ms} ms have passed`, () => performance.now() > end);
};

async function joined(store: RedisActorStore, ...nodes: readonly string[]): Promise<void> {
  for (const node of nodes) assert.ok(await store.announce(member(node), LONG_MS, true));
}

/** A node's row as the program before this one wrote it: it counts the change and records none. */
async function writtenBefore(admin: Redis, { node, incarnation, card }: Member): Promise<void> {
  const due = Date.now() + LONG_MS;
  await admin.hset(keys.members, node, `${due}\n${incarnation}\n${card}`);
  await admin.zadd(keys.membersDue, due, node);
  await admin.incr(keys.membersVersion);
}

describe('changes of the members on Redis', { skip: redisMissing() ?? false, timeout: 120_000, concurrency: 2 }, () => {
  it('a renewal is no change: the version stays, nothing is recorded, and a read returns no member', () =>
    setup(async ({ store, admin }) => {
      await joined(store, 'a', 'b', 'c');
      const { version } = await store.readMembers('a', '');
      const recorded = await admin.lrange(keys.membersChanges, 0, -1);
      for (const node of ['a', 'b', 'c', 'a']) assert.ok(await store.announce(member(node), LONG_MS, false));
      const { soonestMs, ...read } = await store.readMembers('a', version);
      assert.deepEqual(read, { version, members: [], gone: [] });
      assert.ok(soonestMs > 0);
      assert.deepEqual(await admin.lrange(keys.membersChanges, 0, -1), recorded);
    }));

  it('an expired member is removed by the next renewal of another: one change, which a read returns as one', () =>
    setup(async ({ store }) => {
      await joined(store, 'a', 'b', 'c');
      const { version } = await store.readMembers('a', '');
      assert.ok(await store.announce(member('c'), 40, false));
      await eventually('its lease has expired', async () => {
        await store.announce(member('b'), LONG_MS, false);
        return (await store.members()).length === 2;
      });
      await store.announce(member('b'), LONG_MS, false);
      const after = await store.readMembers('a', version);
      assert.deepEqual({ members: after.members, gone: after.gone }, { members: [], gone: ['c'] });
      const number = (text: string) => Number(text.split(' ')[0]);
      assert.equal(number(after.version), number(version) + 1);
    }));

  it('until an expired member is removed, a read returns all members and no version', () =>
    setup(async ({ store }) => {
      await joined(store, 'a', 'b', 'c');
      const { version } = await store.readMembers('a', '');
      assert.ok(await store.announce(member('c'), 40, false));
      await passed(60);
      const read = await store.readMembers('a', version);
      assert.deepEqual(
        { ...read, soonestMs: 0 },
        { version: '', members: [member('a'), member('b')], gone: null, soonestMs: 0 },
      );
      // It comes back before another node removes it: no change is counted, and who saw it gone reads all again.
      assert.ok(await store.announce(member('c'), LONG_MS, false));
      assert.deepEqual(
        (await store.readMembers('a', read.version)).members,
        ['a', 'b', 'c'].map((node) => member(node)),
      );
      assert.deepEqual((await store.readMembers('a', version)).gone, []);
    }));

  it('a change that a program of the version before made is not recorded: the next read returns all, later ones changes', () =>
    setup(async ({ store, admin }) => {
      await joined(store, 'a', 'b');
      const { version } = await store.readMembers('a', '');
      await writtenBefore(admin, member('old'));
      await store.announce(member('b', 'changed'), LONG_MS, false);
      const all = [member('a'), member('b', 'changed'), member('old')];
      const read = await store.readMembers('a', version);
      assert.deepEqual({ members: read.members, gone: read.gone }, { members: all, gone: null });
      await store.announce(member('b', 'again'), LONG_MS, false);
      const later = await store.readMembers('a', read.version);
      assert.deepEqual({ members: later.members, gone: later.gone }, { members: [member('b', 'again')], gone: [] });
    }));

  it('while a node lives whose program keeps no version, each read returns all members', () =>
    setup(async ({ store, admin }) => {
      await joined(store, 'a', 'b');
      await admin.hset(keys.members, 'old', `${Date.now() + LONG_MS}\nold-1\n{}`);
      for (let read = 0; read < 2; read += 1) {
        const { version, members, gone } = await store.readMembers('a', '');
        assert.deepEqual([version, members.length, gone], ['', 3, null]);
      }
    }));

  it('the record of changes is bounded; a node that knows an older version reads all members', () =>
    setup(async ({ store, admin }) => {
      const nodes = Array.from({ length: 40 }, (_, n) => `node-${100 + n}`);
      await joined(store, ...nodes);
      const first = await store.readMembers('a', '');
      const changes = KEPT_CHANGES + 10;
      const last = new Map<string, Member>();
      const calls = Array.from({ length: changes }, (_, n) => {
        const changed = member(nodes[n % nodes.length] ?? '', `card ${n}`);
        last.set(changed.node, changed);
        return store.announce(changed, LONG_MS, false);
      });
      assert.ok((await Promise.all(calls)).every(Boolean));
      assert.equal(await admin.llen(keys.membersChanges), KEPT_CHANGES);
      const read = await store.readMembers('a', first.version);
      assert.equal(read.gone, null);
      assert.deepEqual(
        read.members,
        [...last.values()].sort((a, b) => (a.node < b.node ? -1 : 1)),
      );
      await admin.ltrim(keys.membersChanges, -1, -1);
      await store.announce(member('node-100', 'one'), LONG_MS, false);
      await store.announce(member('node-101', 'two'), LONG_MS, false);
      const version = read.version;
      const two = await store.readMembers('a', version);
      assert.deepEqual([two.members.length, two.gone], [2, []]);
      await admin.ltrim(keys.membersChanges, -1, -1);
      assert.deepEqual((await store.readMembers('a', version)).members.length, nodes.length);
    }));

  it('a server that came back in an earlier state returns all members, even where it counted as far again', () =>
    setup(
      async (set) => {
        const { store, admin, server } = set;
        await joined(store, 'a', 'b');
        await admin.save();
        await joined(store, 'lost');
        const known = await store.readMembers('a', '');
        assert.equal(known.members.length, 3);
        await server.restart();
        await eventually('the store answers', () => answers(set));
        await joined(store, 'new');
        const read = await store.readMembers('a', known.version);
        assert.equal(read.gone, null);
        assert.equal(read.version.split(' ')[0], known.version.split(' ')[0], 'it has counted as far as before');
        assert.deepEqual(
          membersAfter(known.members, read).map(({ node }) => node),
          ['a', 'b', 'new'],
        );
        // The same when the list does not have that change any more.
        await joined(store, 'newer');
        await admin.ltrim(keys.membersChanges, -1, -1);
        assert.equal((await store.readMembers('a', known.version)).gone, null);
        assert.deepEqual((await store.readMembers('a', read.version)).members, [member('newer')]);
      },
      { args: ['--appendonly', 'no'] },
    ));

  it('a server that restarted and lost nothing returns no member that did not change since', () =>
    setup(
      async (set) => {
        const { store, admin, server } = set;
        await joined(store, 'a', 'b');
        const earlier = await store.readMembers('a', '');
        await joined(store, 'c');
        const known = await store.readMembers('a', earlier.version);
        assert.deepEqual([known.members, known.gone], [[member('c')], []]);
        await admin.save();
        await server.restart();
        await eventually('the store answers', () => answers(set));
        for (const renewed of ['a', 'b', 'c']) assert.ok(await store.announce(member(renewed), LONG_MS, false));
        const { soonestMs: _, ...same } = await store.readMembers('a', known.version);
        assert.deepEqual(same, { version: known.version, members: [], gone: [] });
        assert.deepEqual((await store.readMembers('a', earlier.version)).members, [member('c')]);
        assert.ok(await store.retire('b', member('b').incarnation));
        const after = await store.readMembers('a', known.version);
        assert.deepEqual([after.members, after.gone], [[], ['b']]);
        assert.deepEqual((await store.readMembers('a', after.version)).gone, []);
      },
      { args: ['--appendonly', 'no'] },
    ));

  it('a node that reads changes has the members of one that reads all, whatever a server lost at its restarts', () =>
    setup(
      async (set) => {
        const { store, admin, server } = set;
        const random = seeded(SEED);
        const followers = Array.from({ length: 3 }, () => ({ version: '', members: [] as readonly Member[] }));
        for (let step = 0; step < STEPS; step += 1) {
          const node = `n${Math.floor(random() * 6)}`;
          const dice = random();
          if (dice < 0.45) assert.ok(await store.announce(member(node, `card ${step}`), LONG_MS, true));
          else if (dice < 0.6) await store.retire(node, member(node).incarnation);
          else if (dice < 0.7) await admin.save();
          else if (dice < 0.8) {
            await server.restart();
            await eventually('the store answers', () => answers(set));
          } else {
            const at = followers[step % followers.length] ?? assert.fail();
            const read = await store.readMembers('x', at.version);
            Object.assign(at, { version: read.version, members: membersAfter(at.members, read) });
            const { members } = await store.readMembers('x', '');
            assert.deepEqual(at.members, members, `seed ${SEED}, step ${step}`);
          }
        }
      },
      { args: ['--appendonly', 'no', '--save', ''] },
    ));

  it('after an outage of the store the members whose leases it outlasted are unchanged', () =>
    setup(async (set) => {
      const { store, server } = set;
      for (const node of ['a', 'b', 'c']) assert.ok(await store.announce(member(node), TERM_MS, true));
      const { version } = await store.readMembers('a', '');
      process.kill(server.pid, 'SIGSTOP');
      await passed(AWAY_MS);
      process.kill(server.pid, 'SIGCONT');
      await eventually('the store answers', () => answers(set));
      for (const renewed of ['a', 'b']) {
        assert.ok(await store.announce(member(renewed), TERM_MS, false));
        const read = await store.readMembers('a', version);
        assert.deepEqual({ ...read, soonestMs: 0 }, { version, members: [], gone: [], soonestMs: 0 });
      }
      await eventually('c has expired', async () => {
        for (const node of ['a', 'b']) await store.announce(member(node), TERM_MS, false);
        return (await store.members()).length === 2;
      });
      await store.announce(member('a'), TERM_MS, false);
      assert.deepEqual((await store.readMembers('a', version)).gone, ['c']);
    }));
});
