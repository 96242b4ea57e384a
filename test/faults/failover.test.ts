import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { startMongo } from '../support/ferretdb.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinel } from '../support/redis-sentinel.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { commandsThrough } from './rounds/redis-away.ts';
import { openRedisFleet, type RedisFleet } from './rounds/redis-fleet.ts';

const skip = serversMissing();
const MANY = sample({ normal: 3, long: 12 });
/** A lease is held for 6 s. */
const LONGER_THAN_A_LEASE_MS = 9_000;

/** Starts executions of a node before, during and after a fault of its Redis; all must complete. */
async function through(url: string, strike: () => Promise<unknown>): Promise<void> {
  const mongo = await startMongo();
  const kernel = { partitions: 16 };
  await using node = await ProductNode.start({ spec: { kernel, stores: { redis: url, mongodb: mongo.uri } } });
  try {
    const agent = await node.deploy(agentYaml('talker'));
    /** A start that is repeated under its key until it is accepted, as clients do. */
    const taken = (key: string): Promise<string> =>
      waitUntil(
        `start ${key} is accepted`,
        async () => {
          const headers = { 'idempotency-key': key };
          const answer = await node.json('POST', '/v1/executions', { agent_id: agent, input: 'steady' }, headers);
          if (answer.status === 200) return String(answer.body.execution_id);
          assert.ok([503, 504].includes(answer.status), `${answer.status} ${answer.text}`);
          return false;
        },
        40_000,
      );
    const many = (word: string) => Promise.all(Array.from({ length: MANY }, (_, at) => taken(`${word}-${at}`)));
    const before = await many('before');
    await strike();
    const begun = performance.now();
    const during = await many('during');
    console.log(`starts were accepted ${Math.round(performance.now() - begun)} ms after the fault`);
    const ids = [...before, ...during];
    await waitUntil(
      'all of them complete',
      async () => {
        const all = await Promise.all(ids.map((id) => node.statusOf(id)));
        return all.every(({ status }) => status === 'completed');
      },
      40_000,
    );
    assert.deepEqual([...(await many('before')), ...(await many('during'))], ids, 'each key is one execution');
    assert.ok(!node.process.crashed, node.process.log);
  } finally {
    await node.process.kill();
    await mongo.stop();
  }
}

test('the master is killed and Sentinel promotes a replica: starts are accepted after the failover and executions continue', {
  skip,
  timeout: 300_000,
}, async () => {
  const servers = await startRedisSentinel();
  try {
    const admin = new Redis(servers.master.url);
    await through(servers.url, async () => {
      // Replication is asynchronous: writes that have not reached the replica would be lost
      // (docs/explanation/semantics.md, Durability).
      assert.equal(await admin.wait(1, 30_000), 1);
      admin.disconnect();
      await servers.master.kill();
    });
  } finally {
    await servers.stop();
  }
});

test('a failover by Sentinel takes longer than a lease: commands of live nodes run on and report, none is ended, none runs twice', {
  skip,
  timeout: 300_000,
}, async () => {
  const fleet = await openRedisFleet({}, { downAfterMs: LONGER_THAN_A_LEASE_MS });
  try {
    const strike = async ({ admin, redis }: RedisFleet) => {
      // As above: writes that have not reached the replica would be lost.
      assert.equal(await admin.wait(1, 30_000), 1);
      await redis.kill();
    };
    const outage = { name: 'failed over', seconds: LONGER_THAN_A_LEASE_MS / 1_000, strike };
    const { recoveryMs, notes, ...counts } = await commandsThrough(fleet, outage, 0);
    console.log(`${notes?.join(' ')}, quiet ${Math.round(recoveryMs ?? 0)} ms after the fault`);
    assert.deepEqual(counts, { runs: 12, hung: 0, nodesEnded: 0, lost: 0, repeated: 0 });
  } finally {
    await fleet.close();
  }
});

test('a master of a Redis Cluster without replicas is killed: runs wait until it is started again, and then continue', {
  skip,
  timeout: 300_000,
}, async () => {
  const servers = await startRedisCluster();
  const [master] = servers.nodes;
  assert.ok(master !== undefined);
  try {
    await through(servers.url, async () => {
      await master.kill();
      await master.restart();
    });
  } finally {
    await servers.stop();
  }
});

/** Slots of the hash tags of logs (SLOT_TAGS). */
const MOVED_TAGS = ['t0', 't3', 't7'] as const;
/** How long a slot stays half moved: longer than a lease. */
const HALF_MOVED_MS = 9_000;

/** Begins to move the slot of a tag from its master to the next one: half of its keys. Returns what completes the move. */
async function moveHalf(masters: readonly Redis[], tag: string): Promise<() => Promise<void>> {
  const ids = await Promise.all(masters.map(async (one) => String(await one.call('CLUSTER', 'MYID'))));
  const slot = Number(await masters[0]?.call('CLUSTER', 'KEYSLOT', `{svc:${tag}}`));
  const counts = await Promise.all(masters.map((one) => one.call('CLUSTER', 'COUNTKEYSINSLOT', slot)));
  const at = counts.findIndex((count) => Number(count) > 0);
  const [from, to] = [masters[at], masters[(at + 1) % masters.length]];
  const [fromId = '', toId = ''] = [ids[at], ids[(at + 1) % masters.length]];
  assert.ok(from !== undefined && to !== undefined, `a master has the slot of ${tag}`);
  const move = async (keys: readonly string[]): Promise<void> => {
    const target = ['127.0.0.1', String(to.options.port), '', '0', '5000'];
    if (keys.length > 0) await from.call('MIGRATE', ...target, 'KEYS', ...keys);
  };
  const left = async (): Promise<string[]> => {
    const found = await from.call('CLUSTER', 'GETKEYSINSLOT', slot, 10_000);
    return Array.isArray(found) ? found.map(String) : [];
  };
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  await move((await left()).filter((_, index) => index % 2 === 0));
  return async () => {
    for (let keys = await left(); keys.length > 0; keys = await left()) await move(keys);
    for (const one of [to, from]) await one.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
  };
}

test('slots of a Redis Cluster stay half moved for longer than a lease: runs wait until they are moved, and each is one execution', {
  skip,
  timeout: 300_000,
}, async () => {
  const servers = await startRedisCluster();
  const masters = servers.nodes.map(({ port }) => new Redis({ host: '127.0.0.1', port }));
  try {
    await through(servers.url, async () => {
      const completions = await Promise.all(MOVED_TAGS.map((tag) => moveHalf(masters, tag)));
      const end = performance.now() + HALF_MOVED_MS;
      await waitUntil('they were half moved for long', () => performance.now() > end, 2 * HALF_MOVED_MS);
      for (const complete of completions) await complete();
    });
  } finally {
    for (const one of masters) one.disconnect();
    await servers.stop();
  }
});
