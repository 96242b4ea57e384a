import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { type Address, addressOf } from '../../runtime/address.ts';
import { type Cluster, clusterMissing, startCluster } from '../support/cluster/cluster.ts';
import { sample } from '../support/size.ts';

const skip = clusterMissing();
const WORKLOAD = new URL('../chaos/workload.ts', import.meta.url);
const TTL_MS = 4_000;
/** Limit for a call to Redis on a busy machine. */
const CALL_LIMIT_MS = 5_000 + 10_000;

describe('connections to Redis', { skip, timeout: 300_000 }, () => {
  let cluster: Cluster;
  let addresses: readonly Address[] = [];
  let ticks = 0;

  before(async () => {
    // Nodes without a failure detector: only an expired lease shows that a node is dead.
    const config = { kernel: { lease_ttl_ms: TTL_MS, lease_renew_ms: 500 } };
    cluster = await startCluster({ nodes: 2, watched: false, workload: WORKLOAD, config });
    addresses = Array.from({ length: 12 }, () => addressOf('ticker', 'acme', randomUUID()));
    await cluster.settled('at the start');
  });
  after(() => cluster?.destroy());

  /** One tick of every actor. Each answer must be the next number, so no tick was lost or handled twice. */
  async function tickAll(): Promise<void> {
    ticks += 1;
    const asks = addresses.map((address) =>
      cluster.client.ask(address, 'Tick', {}, { withinMs: 30_000, tryMs: 20_000 }),
    );
    const answers = await cluster.explained(Promise.all(asks));
    assert.deepEqual(new Set(answers.map((answer) => JSON.stringify(answer))), new Set([`{"value":${ticks}}`]));
  }

  async function rest(who: number, path: string): Promise<{ status: number; body: string; tookMs: number }> {
    const begun = performance.now();
    const { rest: url } = await cluster.node(who).ready;
    const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(30_000) });
    return { status: response.status, body: await response.text(), tookMs: performance.now() - begun };
  }
  const isReady = async (who: number): Promise<boolean> => (await rest(who, '/health/ready')).status === 200;

  for (const [what, direction] of [
    ['half open: no byte passes either way and no connection closes', 'both'],
    ['one-way: no byte of Redis arrives at the node', 'from-store'],
    ['mute: nothing of the node arrives at Redis', 'to-store'],
  ] as const) {
    test(`the connection to Redis is ${what}: calls fail in time, the node is not ready, others serve, and it comes back`, async () => {
      await tickAll();
      cluster.cut(0, direction);
      const call = rest(0, `/v1/executions/${randomUUID()}`);
      await Promise.all([
        tickAll(),
        cluster.waitUntil('the cut node to be not ready', async () => !(await isReady(0))),
      ]);
      const { status, body, tookMs } = await call;
      assert.equal(status, 503, body);
      assert.ok(tookMs < CALL_LIMIT_MS, `the call failed after ${Math.round(tookMs)} ms`);
      assert.match((await rest(0, '/health/ready')).body, /holds no lease/);
      assert.equal((await rest(0, '/health')).status, 200, 'the process itself is healthy');
      cluster.heal(0);
      await cluster.waitUntil('the healed node to be ready', () => isReady(0));
      await cluster.settled('after the heal');
      await tickAll();
      assert.deepEqual(cluster.crashed, []);
    });
  }

  test('all connections to Redis are killed repeatedly: nothing is lost and no process restarts', async () => {
    const admin = new Redis(cluster.redis.url);
    for (let round = 0; round < sample({ normal: 1, long: 5 }); round += 1) {
      const asked = tickAll();
      for (const type of ['normal', 'pubsub']) await admin.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
      await asked;
    }
    admin.disconnect();
    await cluster.settled('after the connections were killed');
    await tickAll();
    assert.deepEqual(cluster.crashed, []);
  });

  test('Redis 100 ms away in each direction: answers take longer and no node loses its leases', async () => {
    await cluster.settled('before the link is slow');
    const before = await cluster.holders();
    for (const node of [0, 1]) cluster.slow(node, 100);
    for (let round = 0; round < sample({ normal: 2, long: 8 }); round += 1) await tickAll();
    assert.ok((await isReady(0)) && (await isReady(1)));
    assert.deepEqual(await cluster.holders(), before);
    for (const node of [0, 1]) cluster.heal(node);
    await tickAll();
  });
});
