import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import type { ActorStore } from '../../../runtime/actor-store.ts';
import { addressOf, isSharedLog, type Partition, partitionOf, type SharedLog } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { defineActor } from '../../../runtime/define-actor.ts';
import { EmbeddedEffectQueue } from '../../../runtime/effects/embedded-effect-queue.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { connectClient, type Runtime, type RuntimeParts, startRuntime } from '../../../runtime/runtime.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { register } from '../../chaos/register.ts';
import { counter, job, workEffect } from '../../support/actors.ts';
import { FaultyStore } from '../../support/faulty-store.ts';
import { HeldDocuments } from '../../support/held-documents.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';
import { testPlacement } from '../../support/test-placement.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PARTITIONS = 6;
/** So long that a process beside others does not lose its leases between two renewals. */
const TTL_MS = 2_000;
const RENEW_MS = 200;

/** Ends with its first message. */
const brief = defineActor({
  kind: 'brief',
  version: 1,
  state: z.object({ over: z.boolean() }),
  initial: () => ({ over: false }),
  messages: { End: z.object({}) },
  events: { Ended: z.object({}) },
  on: {
    End(_state, _end, turn) {
      turn.emit('Ended', {});
      return { over: true };
    },
  },
  done: ({ over }) => over,
});

describe('partitions of a node share a log', { skip: redisMissing() ?? false }, () => {
  let server: RedisServer;
  let directory: string;
  before(async () => {
    server = await startRedis();
    directory = await mkdtemp(join(tmpdir(), 'svc-sharing-'));
  });
  after(async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** A node of its own installation, which another life may go on with. */
  async function setup(prefix = `s${randomUUID().slice(0, 8)}`) {
    const [documents, blobs] = [new SqliteDocuments({ directory }), new FileBlobs({ directory })];
    const store = new RedisActorStore({ urls: server.url, prefix });
    for (const port of [store, documents, blobs]) await port.open();
    const warnings: string[] = [];
    const start = async (
      bend: (store: ActorStore) => Partial<ActorStore> = () => ({}),
      settings: RuntimeParts['settings'] = {},
      placing: Partial<Pick<RuntimeParts, 'node' | 'placement' | 'documents' | 'random'>> = {},
    ): Promise<Runtime> => {
      const faulty = new FaultyStore(store, { seed: 1 });
      for (const [name, value] of Object.entries(bend(store))) Object.defineProperty(faulty, name, { value });
      const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
      await effects.open();
      return startRuntime({
        ...{
          documents,
          blobs,
          effects,
          node: 'node-a',
          definitions: [counter, job, register, brief],
          store: faulty,
          ...placing,
        },
        handlers: [workEffect({ begun: [], aborted: [] })],
        settings: {
          ...{ partitions: PARTITIONS, systemPartitions: 1, leaseTtlMs: TTL_MS, leaseRenewMs: RENEW_MS },
          ...{ shareAfterMs: 20, ...settings },
        },
        warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
      });
    };
    const logs = () => store.sharedLogs?.list() ?? assert.fail('no shared logs');
    const shared = (count = PARTITIONS + 1) =>
      waitUntil('all partitions share the log', async () => {
        const [log, ...others] = await logs();
        const { cursor } = log === undefined ? { cursor: -1 } : await store.backlog(log);
        const names = Array.from({ length: PARTITIONS }, (_, n) => `default:${n}` as const);
        const backlogs = await Promise.all([...names, 'system:0' as const].map((name) => store.backlog(name)));
        const joined = backlogs.filter((one) => one.cursor === cursor).length;
        return others.length === 0 && joined >= count ? log : null;
      });
    const close = async () => {
      for (const port of [store, documents, blobs]) await port.close();
    };
    return { store, documents, blobs, warnings, start, logs, shared, close };
  }

  const counters = Array.from({ length: 40 }, (_, n) => addressOf('counter', 'acme', `c${n}`));

  async function addToAll(runtime: Runtime): Promise<unknown[]> {
    return Promise.all(counters.map((to) => runtime.client.ask(to, 'Add', { by: 1 }, { timeoutMs: 30_000 })));
  }

  test('simultaneous calls to many partitions are one commit', async () => {
    const at = await setup();
    const sizes: number[] = [];
    const runtime = await at.start((store) => ({
      commit(commit, readAhead) {
        if (isSharedLog(commit.lease.log)) sizes.push(commit.partitions?.length ?? 0);
        return store.commit(commit, readAhead);
      },
    }));
    await at.shared();
    await addToAll(runtime);
    sizes.length = 0;
    assert.deepEqual(new Set(await addToAll(runtime)), new Set([2]));
    assert.ok(Math.max(...sizes) === PARTITIONS, `partitions of each commit: ${sizes}`);
    await runtime.stop();
    assert.deepEqual(await at.logs(), [], 'the log ends with its node');
    assert.deepEqual(at.warnings, []);
    await at.close();
  });

  test('ended actors of many partitions leave in one gap between batches', async () => {
    const at = await setup();
    const archive = new HeldDocuments('archived_actors');
    let [running, most] = [0, 0];
    const runtime = await at.start(
      (store) => ({
        async forget(...asked) {
          running += 1;
          most = Math.max(most, running);
          const isWritten = await store.forget(...asked);
          running -= 1;
          return isWritten;
        },
      }),
      {},
      { documents: archive.over(at.documents) },
    );
    await at.shared();
    const briefs = Array.from({ length: 40 }, (_, n) => addressOf('brief', 'acme', `b${n}`));
    await Promise.all(briefs.map((to) => runtime.client.ask(to, 'End', {}, { timeoutMs: 30_000 })));
    archive.isDown = false;
    await waitUntil('the ended actors to leave the store', async () => {
      const layout = { pool: 'default', partitions: PARTITIONS };
      const left = briefs.map((to) => at.store.load(partitionOf(to, layout), [to]));
      return (await Promise.all(left)).every(([record]) => record === null);
    });
    assert.equal(most, PARTITIONS);
    await runtime.stop();
    await at.close();
  });

  test('a renewal that is under way while partitions join does not cost the log later', async () => {
    const at = await setup();
    let acquired = 0;
    const runtime = await at.start(
      (store) => ({
        acquire(...asked) {
          acquired += 1;
          return store.acquire(...asked);
        },
        async renew(leases, ttlMs) {
          const lost = await store.renew(leases, ttlMs);
          // The answer comes when all partitions share a log.
          if (leases.some(({ log }) => !isSharedLog(log))) await at.shared();
          return lost;
        },
      }),
      { shareAfterMs: RENEW_MS * 2 },
    );
    const log = await at.shared();
    const before = acquired;
    const begunAt = await at.store.now();
    await waitUntil('more than a lease term passes', async () => {
      await addToAll(runtime);
      return (await at.store.now()) > begunAt + 3 * TTL_MS;
    });
    assert.deepEqual(await at.logs(), [log]);
    assert.equal(acquired, before);
    await runtime.stop();
    await at.close();
  });

  test('partitions do not continue before the closed log is read to its end: the restarted node reads it first', async () => {
    const at = await setup();
    let isAway = false;
    const released: string[] = [];
    const first = await at.start((store) => ({
      async poll(asks, limit) {
        if (isAway && asks.some(({ lease }) => isSharedLog(lease.log))) throw new SvcError('unavailable');
        return store.poll(asks, limit);
      },
      release(lease) {
        released.push(lease.log);
        return store.release(lease);
      },
    }));
    const log = await at.shared();
    await addToAll(first);
    isAway = true;
    await Promise.all(counters.map((to) => first.client.tell(to, 'Add', { by: 1 })));
    await first.stop();
    const { cursor, tail } = await at.store.backlog(log);
    assert.equal(tail - cursor, counters.length);
    assert.deepEqual(released, []);
    const second = await at.start();
    assert.deepEqual(new Set(await addToAll(second)), new Set([3]));
    await second.stop();
    await at.close();
  });

  test('a restarted node reads the log of its former incarnation, and handles the messages that wait in it first', async () => {
    const at = await setup();
    const made = await at.start();
    const log = await at.shared();
    await addToAll(made);
    await made.stop();
    const { store } = at;
    const homes = [];
    for (let n = 0; n < PARTITIONS; n += 1) {
      const got = await store.acquire(`default:${n}`, 'node-a', randomUUID(), 60_000);
      assert.ok(got.kind === 'granted');
      homes.push(got.lease);
    }
    const former = `log-${randomUUID()}` as const;
    const names = homes.map((home) => home.log);
    const granted = await store.sharedLogs?.make(former, 'node-a', randomUUID(), 60_000, names);
    assert.ok(granted);
    const joined = await store.sharedLogs?.join(granted.lease, homes);
    assert.deepEqual(new Set(joined), new Set(['joined']));
    const client = await connectClient({
      ...{ documents: at.documents, blobs: at.blobs, definitions: [counter, job], warn: () => {}, store },
      settings: { partitions: PARTITIONS, systemPartitions: 1 },
    });
    await Promise.all(counters.map((to) => client.tell(to, 'Add', { by: 1 })));
    client.close();
    assert.equal((await store.backlog(former)).tail - granted.cursor, counters.length);
    const runtime = await at.start();
    assert.deepEqual(new Set(await addToAll(runtime)), new Set([3]));
    await waitUntil('the former log is removed', async () => !(await at.logs()).includes(former));
    assert.notEqual(await at.shared(), log);
    await runtime.stop();
    assert.deepEqual(at.warnings, []);
    await at.close();
  });

  test('an actor that another node changed is read again, although the answer to a commit came when its partition was lost', async (t) => {
    const at = await setup();
    const started: Runtime[] = [];
    t.after(async () => {
      for (const runtime of started) await runtime.stop();
      await at.close();
    });
    // Its turns send no events, whose numbers the store would check.
    const own = Array.from({ length: 100 }, (_, n) => addressOf('register', 'acme', `r${n}`)).find(
      (one) => partitionOf(one, { pool: 'default', partitions: PARTITIONS }) === 'default:0',
    );
    assert.ok(own !== undefined);
    const swap = (node: Runtime, from: number, to: number): Promise<unknown> =>
      node.client.ask(own, 'Swap', { from, to }, { timeoutMs: 10_000 });
    const names = Array.from({ length: PARTITIONS }, (_, n): Partition => `default:${n}`);
    const all: readonly Partition[] = ['system:0', ...names];
    let wanted = all;
    const mine = testPlacement(async () => ({ wanted: new Set(wanted), queues: ['default', 'system'] }));
    const answer = Promise.withResolvers<void>();
    let [isHeld, isAway] = [false, false];
    const first = await at.start(
      (store) => ({
        async commit(commit, readAhead) {
          const outcome = await store.commit(commit, readAhead);
          if (isHeld && isSharedLog(commit.lease.log)) await answer.promise;
          return outcome;
        },
        renew(leases, ttlMs) {
          if (isAway && leases.some(({ log }) => log === 'default:0')) throw new SvcError('unavailable');
          return store.renew(leases, ttlMs);
        },
      }),
      {},
      { placement: mine.placement },
    );
    started.push(first);
    await at.shared();
    const sharedAt = await at.store.now();
    await waitUntil('its own lease of the partition expires', async () => (await at.store.now()) > sharedAt + TTL_MS);
    [isHeld, isAway] = [true, true];
    assert.equal(await swap(first, 0, 1), true);
    // A partition that leaves ends the log, which is read as soon as the answer comes.
    wanted = all.filter((one) => one !== 'default:1');
    mine.ring();
    const other = testPlacement(async () => ({ wanted: new Set<Partition>(['default:0']), queues: ['default'] }));
    const second = await at.start(() => ({}), {}, { node: 'node-b', placement: other.placement });
    started.push(second);
    await waitUntil('the other node has the partition', () => second.held().includes('default:0'));
    isAway = false;
    await waitUntil('the node knows', () => !first.held().includes('default:0'));
    wanted = wanted.filter((one) => one !== 'default:0');
    answer.resolve();
    assert.equal(await swap(second, 1, 2), true);
    await second.stop();
    wanted = [...wanted, 'default:0'];
    mine.ring();
    await waitUntil('the node has the partition again', () => first.held().includes('default:0'));
    assert.deepEqual([await swap(first, 1, 3), await swap(first, 2, 3)], [false, true]);
  });

  // If each node of a large fleet asked for every log, calls would grow with the square of the nodes.
  for (const [nodes, looks] of [
    [4, 1],
    [1_000, 0],
  ] as const)
    test(`of ${nodes} nodes one that has started looks ${looks} times for logs without a holder`, async () => {
      const at = await setup();
      let [lists, renewals] = [0, 0];
      const { placement } = testPlacement(async () => {
        renewals += 1;
        return { wanted: new Set(['default:0', 'default:1']), queues: ['default', 'system'] };
      });
      const lives = Array.from({ length: nodes }, (_, n) => `node-${n}/one`);
      const runtime = await at.start(
        (store) => {
          const logs = new FaultyStore(store, { seed: 1 }).sharedLogs ?? assert.fail('no shared logs');
          const list = (): Promise<readonly SharedLog[]> => {
            lists += 1;
            return logs.list();
          };
          return { sharedLogs: { ...logs, list } };
        },
        {},
        { placement: { ...placement, incarnations: () => lives }, random: { ...systemRandom, fraction: () => 0.5 } },
      );
      await waitUntil('it has renewed its leases several times', () => renewals >= 5);
      assert.equal(lists, looks);
      await runtime.stop();
      await at.close();
    });

  test('a lease that was granted before a restart of the server joins no log: its partition has to be checked', async () => {
    const own = await startRedis({ appendfsync: 'always' });
    const store = new RedisActorStore({ urls: own.url });
    await store.open();
    const leases = [];
    for (const partition of ['default:0', 'default:1'] as const) {
      const got = await store.acquire(partition, 'node-a', randomUUID(), 60_000);
      assert.ok(got.kind === 'granted');
      leases.push(got.lease);
    }
    await own.kill();
    await own.restart();
    await waitUntil('the server answers', () =>
      store.now().then(
        () => true,
        () => false,
      ),
    );
    const names = leases.map(({ log }) => log);
    const made = await store.sharedLogs?.make(`log-${randomUUID()}`, 'node-a', randomUUID(), 60_000, names);
    assert.ok(made);
    assert.deepEqual(await store.sharedLogs?.join(made.lease, leases), ['lost', 'lost']);
    await store.close();
    await own.stop();
  });
});
