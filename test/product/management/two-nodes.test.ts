import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startMongo } from '../../support/ferretdb.ts';
import { startRedis } from '../../support/redis.ts';
import { serversMissing } from '../../support/servers-missing.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, objectOf, ProductNode } from '../product-node.ts';

const skip = serversMissing();
const ACCEPT = { accept: 'application/json, text/event-stream' };

async function call(node: ProductNode, name: string, args: object): Promise<Readonly<Record<string, unknown>>> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  const { text, body } = await node.json('POST', '/mcp', message, ACCEPT);
  const result = objectOf(JSON.stringify(body.result));
  assert.equal(result.isError, false, text);
  return objectOf(JSON.stringify(result.structuredContent));
}

const holdsSome = async (node: ProductNode): Promise<boolean> => {
  const { partitions } = objectOf(JSON.stringify((await node.call('GET', '/v1/cluster/status')).body.node));
  return Number(objectOf(JSON.stringify(partitions)).default) > 0;
};

describe('waiting on one of two nodes', { skip }, () => {
  test('an end on either node is reported long before the next poll', async () => {
    await using opened = new AsyncDisposableStack();
    const redis = await startRedis({ appendfsync: 'always' });
    opened.defer(() => redis.stop());
    const mongo = await startMongo();
    opened.defer(() => mongo.stop());
    const spec = { kernel: { partitions: 32 }, stores: { redis: redis.url, mongodb: mongo.uri } };
    const [one, other] = [await ProductNode.start({ spec }), await ProductNode.start({ spec })];
    opened.use(one);
    opened.use(other);
    await waitUntil('both hold partitions', async () => (await holdsSome(one)) && (await holdsSome(other)));
    const agent_id = await one.deploy(agentYaml('sleeper'));
    // Enough that some are on each node.
    const ids = await Promise.all(Array.from({ length: 8 }, () => one.run(agent_id, 'sleepy')));
    const waits = ids.flatMap((execution_id) =>
      [one, other].map((node) =>
        call(node, 'svc.task.wait', { execution_id, poll_interval_seconds: 300, timeout_seconds: 120 }),
      ),
    );
    await waitUntil('all are waited for', async () => {
      const { body } = await one.call('GET', '/v1/executions?status=running');
      return Array.isArray(body.executions) && body.executions.length === ids.length;
    });
    for (const execution_id of ids) await call(other, 'svc.task.cancel', { execution_id });
    const statuses = new Set((await Promise.all(waits)).map(({ status }) => status));
    assert.deepEqual([...statuses], ['cancelled']);
  });
});
