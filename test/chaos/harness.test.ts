import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import { type Cluster, clusterMissing, startCluster } from '../support/cluster/cluster.ts';
import { Unanswered } from '../support/cluster/fleet-client.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = clusterMissing();
const WORKLOAD = new URL('workload.ts', import.meta.url);

describe('the cluster harness', { skip, timeout: 300_000 }, () => {
  let cluster: Cluster;
  before(async () => {
    const config = { kernel: { partitions: 8, lease_ttl_ms: 1_500, lease_renew_ms: 500 } };
    cluster = await startCluster({ nodes: 1, workload: WORKLOAD, config });
  });
  after(() => cluster?.destroy());

  const tick = async (id: string, withinMs = 30_000): Promise<unknown> =>
    cluster.explained(cluster.client.ask(addressOf('ticker', 'acme', id), 'Tick', {}, { withinMs }));

  test('a frozen node answers nothing and answers again when thawed', async () => {
    assert.deepEqual(await tick('frozen'), { value: 1 });
    cluster.freeze(0);
    assert.equal(await cluster.local(0, 300), null);
    await assert.rejects(
      cluster.client.ask(addressOf('ticker', 'acme', 'frozen'), 'Tick', {}, { withinMs: 3_000 }),
      Unanswered,
    );
    cluster.thaw(0);
    assert.ok(await cluster.waitUntil('the thawed node to answer', () => cluster.local(0)));
    // The unanswered ask was durable, so it is counted.
    assert.deepEqual(await tick('frozen'), { value: 3 });
  });

  for (const direction of ['to-store', 'from-store', 'both'] as const) {
    test(`a connection cut ${direction} carries no bytes in that direction until it is healed`, async () => {
      await tick('cut');
      cluster.cut(0, direction);
      const { passed } = cluster.link(0);
      await assert.rejects(
        cluster.client.ask(addressOf('ticker', 'acme', 'cut'), 'Tick', {}, { withinMs: 3_000 }),
        Unanswered,
      );
      const now = cluster.link(0).passed;
      if (direction !== 'from-store') assert.equal(now.toStore, passed.toStore);
      if (direction !== 'to-store') assert.equal(now.fromStore, passed.fromStore);
      // Only one direction was cut; bytes still pass in the other one.
      if (direction === 'from-store') assert.ok(now.toStore > passed.toStore);
      cluster.heal(0);
      await tick('cut');
    });
  }

  test('a slow connection delays every answer', async () => {
    await tick('slow');
    cluster.slow(0, 150);
    const begun = performance.now();
    await tick('slow');
    const tookMs = performance.now() - begun;
    cluster.heal(0);
    assert.ok(tookMs >= 150, `an ask took ${Math.round(tookMs)} ms`);
  });

  test('a skewed clock is visible, and only on that node', async () => {
    await cluster.skewClock(0, 120_000);
    await cluster.waitUntil('the clock of node-0 to be two minutes ahead', async () => {
      const local = await cluster.local(0);
      return local !== null && Math.abs(local.now - Date.now() - 120_000) < 5_000;
    });
    await tick('skewed');
    await cluster.skewClock(0, 0);
  });

  test('a restarted store keeps what was acknowledged', async () => {
    for (let value = 1; value <= 20; value += 1) assert.deepEqual(await tick('kept'), { value });
    await cluster.restartStore();
    assert.deepEqual(await tick('kept'), { value: 21 });
  });

  test('a killed adapter loses no call that its client repeats', async () => {
    const asks = Array.from({ length: 30 }, () => tick('repeated'));
    await cluster.adapter(0).kill();
    await cluster.startAdapter(0);
    const values = (await Promise.all(asks)).map((answer) => JSON.stringify(answer));
    assert.equal(new Set(values).size, 30, 'each ask was counted once');
    assert.deepEqual(await tick('repeated'), { value: 31 });
  });

  test('a killed node serves again after its start, a stopped one too', async () => {
    await tick('again');
    await cluster.kill(0);
    assert.equal(cluster.node(0).isRunning, false);
    await cluster.start(0);
    assert.deepEqual(await tick('again'), { value: 2 });
    await cluster.stop(0);
    await cluster.start(0);
    assert.deepEqual(await tick('again'), { value: 3 });
    assert.deepEqual(cluster.crashed, []);
  });
});

const ORPHANED = `
  import { startCluster } from ${JSON.stringify(new URL('../support/cluster/cluster.ts', import.meta.url).href)};
  const cluster = await startCluster({ nodes: 1, workload: new URL(${JSON.stringify(WORKLOAD.href)}) });
  cluster.freeze(0);
  console.log(JSON.stringify([cluster.node(0).pid, cluster.adapter(0).pid, cluster.redis.pid]));
  setInterval(() => {}, 1_000);
`;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a cluster ends with its test process, however that process dies', { skip, timeout: 300_000 }, async () => {
  const args = ['--input-type=module', '--eval', ORPHANED];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const pids: number[] = JSON.parse(line);
  assert.equal(pids.filter(isAlive).length, 3);
  child.kill('SIGKILL');
  await waitUntil('frozen node, adapter and Redis to be gone', () => !pids.some(isAlive));
});
