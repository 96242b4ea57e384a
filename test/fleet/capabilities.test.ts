import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { ModelServer } from '../support/model-server.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = serversMissing();

const Status = z.looseObject({
  node: z.looseObject({ node_id: z.string(), partitions: z.record(z.string(), z.number()) }),
});
const Runs = z.looseObject({
  runs: z.array(z.looseObject({ status: z.string(), tags: z.array(z.string()), node: z.string().nullable() })),
});

describe('nodes with different models and tags', { skip }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let spec: Readonly<Record<string, unknown>>;
  let whole: ProductNode;
  let bare: ProductNode;

  const own = async (node: ProductNode) => Status.parse((await node.call('GET', '/v1/cluster/status')).body).node;

  before(async () => {
    [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
    const cluster = { enabled: true, cluster_grpc_port: 0, heartbeat_interval_secs: 1 };
    spec = { kernel: { partitions: 8 }, stores: { redis: redis.url, mongodb: mongo.uri }, cluster };
    whole = await ProductNode.start({ spec });
    bare = await ProductNode.start({ spec: { ...spec, llm_providers: [], node: { tags: ['bare'] } } });
  });
  after(async () => {
    await bare?.[Symbol.asyncDispose]();
    await whole?.[Symbol.asyncDispose]();
    await redis.stop();
    await mongo.stop();
  });

  test('runs go to the node that has their model; a node that joined without models gets none of them', async () => {
    const { node_id: id } = await own(bare);
    await waitUntil(
      'the node without models serves actors',
      async () => Number((await own(bare)).partitions.default) > 0,
      // It is the first wait after the start: a busy machine hands half of the partitions over meanwhile.
      60_000,
    );
    const agent = await whole.deploy(agentYaml('needs-a-model'));
    const runs = await Promise.all(Array.from({ length: 8 }, () => bare.run(agent, 'x')));
    for (const run of runs)
      await waitUntil('the run ends', async () => /completed|failed/.test(String((await whole.statusOf(run)).status)));
    const listed = await waitUntil('the list has them', async () => {
      const { runs: found } = Runs.parse((await whole.call('GET', '/v1/runs?name=needs-a-model')).body);
      return found.every(({ status }) => status !== 'running') && found.length === runs.length && found;
    });
    assert.deepEqual(
      listed.map(({ status, tags, node }) => [status, tags, node === id]),
      runs.map(() => ['completed', ['model:default'], false]),
    );
  });

  test('a provider that is put on one node is used by another node, which then announces its aliases', async () => {
    const model = new ModelServer();
    await model.start();
    model.answer(() => ({ chunks: ['done'] }));
    const { node_id: id } = await own(bare);
    await waitUntil(
      'it is registered',
      async () => (await whole.call('GET', `/v1/cluster/nodes/${id}`)).body.registered === true,
    );
    const provider = {
      type: 'openai-compatible',
      endpoint: `${model.url}/v1`,
      models: [{ alias: 'managed', model: 'm' }],
    };
    const put = await whole.json('PUT', '/v1/cluster/providers/fleet', provider);
    assert.equal(put.status, 200, put.text);
    const agent = await whole.deploy(
      agentYaml('managed-one', { runtime: { model: 'managed' }, execution: { target_tags: ['bare'] } }),
    );
    const run = await whole.run(agent, 'x');
    const ended = await waitUntil('the run ends', async () => {
      const { status } = await whole.statusOf(run);
      return /completed|failed/.test(String(status)) && status;
    });
    assert.equal(ended, 'completed');
    assert.equal(model.calls.length > 0, true);
    await model.stop();
    const node = await waitUntil('the list has it', async () => {
      const { runs } = Runs.parse((await whole.call('GET', '/v1/runs?name=managed-one')).body);
      return runs[0]?.status === 'completed' && runs[0].node;
    });
    assert.equal(node, id);
  });

  test('an exclusive node takes no work without its tags', async () => {
    await using gpu = await ProductNode.start({ spec: { ...spec, node: { tags: ['gpu'], exclusive: true } } });
    const agent = await whole.deploy(agentYaml('on-gpu', { execution: { target_tags: ['gpu'] } }));
    const run = await whole.run(agent, 'x');
    await waitUntil('the run for the tag ends', async () => (await whole.statusOf(run)).status === 'completed');
    const { partitions } = await own(gpu);
    assert.equal(partitions.default ?? 0, 0);
    assert.ok(Number(partitions['+gpu']) > 0, JSON.stringify(partitions));
  });
});
