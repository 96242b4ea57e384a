import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startMongo, type TestMongo } from '../../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { serversMissing } from '../../support/servers-missing.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, ProductNode } from '../product-node.ts';

const skip = serversMissing();
const OVERRIDES = '/v1/admin/rate-limits/overrides';
/** Limit for the test's own calls, on a machine with other work. */
const CALLS_MS = 4_000;

describe('keys and rates over two nodes on one Redis and one MongoDB', { skip }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let one: ProductNode;
  let other: ProductNode;
  before(async () => {
    [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
    const spec = { kernel: { partitions: 8 }, stores: { redis: redis.url, mongodb: mongo.uri } };
    [one, other] = await Promise.all([ProductNode.start({ spec }), ProductNode.start({ spec })]);
  });
  after(async () => {
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
    await redis.stop();
    await mongo.stop();
  });

  test('a key created on one node works on the other, and is refused there within a second after it was revoked', async () => {
    const { body } = await one.json('POST', '/v1/api-keys', { name: 'fleet' });
    const headers = { authorization: `Bearer ${body.key}` };
    const status = async (node: ProductNode): Promise<number> =>
      (await node.call('GET', '/v1/agents', { headers })).status;
    for (const node of [one, other]) assert.equal(await status(node), 200);
    await one.call('DELETE', `/v1/api-keys/${body.id}`);
    const since = performance.now();
    assert.equal(await status(one), 401);
    await waitUntil('the other node to refuse it', async () => (await status(other)) === 401);
    const tookMs = performance.now() - since;
    assert.ok(tookMs < 1_000 + CALLS_MS, `${tookMs} ms`);
  });

  test('a rate set on one node limits the other within two seconds, and the units that both took are one count', async () => {
    const agent = await one.deploy(agentYaml('writer'));
    const target = { tenant: 'svc-system', subject: 'local-operator' };
    const start = async (node: ProductNode): Promise<number> =>
      (await node.json('POST', '/v1/executions', { agent_id: agent, input: 'quick' })).status;
    await one.json('PUT', OVERRIDES, { ...target, rates: { agent_executions: { month: 4 } } });
    const usedOn = async (node: ProductNode): Promise<string> =>
      (await node.call('GET', '/v1/user/rate-limits/usage')).text;
    await waitUntil('the other node to know the rate', async () => (await usedOn(other)).includes('"limit":4'));
    assert.deepEqual(
      [await start(one), await start(other), await start(one), await start(other)],
      [200, 200, 200, 200],
    );
    assert.deepEqual([await start(one), await start(other)], [429, 429]);
    for (const node of [one, other]) assert.match(await usedOn(node), /"window":"month","used":4,"limit":4/);
    await one.json('PUT', OVERRIDES, { ...target, rates: { agent_executions: { month: null } } });
    const since = performance.now();
    assert.equal(await start(one), 200);
    await waitUntil('the other node to let it through', async () => (await start(other)) === 200);
    const tookMs = performance.now() - since;
    assert.ok(tookMs < 2_000 + CALLS_MS, `${tookMs} ms`);
  });
});
