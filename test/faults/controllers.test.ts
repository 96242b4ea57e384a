import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { freePort } from '../support/free-port.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = serversMissing();

const Peers = z.object({
  nodes: z.array(
    z.object({
      node_id: z.string(),
      status: z.string(),
      registered: z.boolean(),
      last_heartbeat_at: z.string().nullable(),
      partitions: z.record(z.string(), z.number()),
    }),
  ),
});

/** Two controllers and a worker that heartbeats each second, as processes over one Redis and one MongoDB. */
describe('a fleet whose controllers die', { skip, timeout: 300_000 }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let first: ProductNode;
  let second: ProductNode;
  let worker: ProductNode;
  let agent = '';
  const nodes: ProductNode[] = [];

  before(async () => {
    [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
    const ports = [await freePort(), await freePort()];
    const endpoint = ports.map((port) => `127.0.0.1:${port}`);
    first = await spawn('controller-1', { role: 'controller', cluster_grpc_port: ports[0] });
    second = await spawn('controller-2', { role: 'controller', cluster_grpc_port: ports[1] });
    worker = await spawn('worker', { role: 'worker', cluster_grpc_port: 0, controller: { endpoint } });
    agent = await worker.deploy(agentYaml('talker'));
  });
  after(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
    await Promise.all([redis?.stop(), mongo?.stop()]);
  });

  async function spawn(id: string, role: object): Promise<ProductNode> {
    const cluster = { enabled: true, heartbeat_interval_secs: 1, ...role };
    const kernel = { partitions: 16, lease_ttl_ms: 2_000, lease_renew_ms: 500 };
    const stores = { redis: redis.url, mongodb: mongo.uri };
    const node = await ProductNode.start({ spec: { node: { id }, cluster, kernel, stores } });
    nodes.push(node);
    return node;
  }
  /**
   * Time of the worker's last heartbeat at a controller; null until it is registered, and while no controller serves
   * the list.
   */
  async function lastHeartbeat(controller: ProductNode): Promise<number | null> {
    const answer = await controller.call('GET', '/v1/cluster/nodes');
    if (answer.status !== 200) return null;
    const peer = Peers.parse(answer.body).nodes.find(({ node_id }) => node_id === 'worker');
    if (peer?.registered !== true || peer.last_heartbeat_at === null) return null;
    return Date.parse(peer.last_heartbeat_at);
  }
  async function hasNewHeartbeat(controller: ProductNode): Promise<void> {
    const since = await waitUntil('the worker is registered', () => lastHeartbeat(controller), 30_000);
    await waitUntil('a later heartbeat', async () => ((await lastHeartbeat(controller)) ?? 0) > since);
  }
  async function runs(): Promise<void> {
    const ids = await Promise.all(Array.from({ length: 5 }, () => worker.run(agent, 'steady')));
    await worker.completed(ids);
  }

  test('one of two controllers is killed while a worker sends heartbeats: the other takes over, and the worker keeps serving', async () => {
    await hasNewHeartbeat(first);
    await hasNewHeartbeat(second);
    const work = runs();
    await first.process.kill();
    const begun = performance.now();
    await hasNewHeartbeat(second);
    console.log(`the other controller has a heartbeat of the worker after ${Math.round(performance.now() - begun)} ms`);
    await work;
    await runs();
  });

  test('without a controller workers stay ready and keep serving; when one is back, the worker is registered again', async () => {
    await second.process.kill();
    // Longer than the lease of the last controller: from here on no node serves the pool of node peers.
    await waitUntil('the worker sees no controller', async () => {
      const answer = await worker.call('GET', '/v1/cluster/status');
      return answer.text.includes('waiting for a node with role controller or hybrid');
    });
    for (let round = 0; round < 3; round += 1) await runs();
    assert.equal((await worker.call('GET', '/health/ready')).status, 200);
    await first.spawn();
    await hasNewHeartbeat(first);
    await runs();
    assert.ok(!worker.process.crashed, worker.process.log);
  });
});
