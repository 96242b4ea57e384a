import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { addKeyVersion } from '../../security/encryption/file-key-source.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { liveFiles } from '../support/live-files.ts';
import { startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';

const CANARY = 'canary-77d20b4e';
/** Longer than a message may be. */
const LARGE = Array.from({ length: 8_000 }, (_none, at) => `${CANARY} ${at * 7_919}`).join(' ');

const skip = serversMissing();

describe('two nodes that encrypt payloads, on Redis and a MongoDB-wire server', { skip }, () => {
  let redis: Awaited<ReturnType<typeof startRedis>>;
  let mongo: TestMongo;
  let keys = '';
  const nodes: ProductNode[] = [];
  before(async () => {
    keys = await mkdtemp(join(tmpdir(), 'svc-keys-'));
    await addKeyVersion(join(keys, 'keys.json'), Date.now());
    [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
    const spec = {
      kernel: { partitions: 16 },
      stores: { redis: redis.url, mongodb: mongo.uri },
      secrets: { keys: { file: join(keys, 'keys.json') } },
      encryption: { payloads: { tenants: 'all' } },
    };
    nodes.push(await ProductNode.start({ spec }), await ProductNode.start({ spec }));
  });
  after(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]();
    await Promise.all([redis?.stop(), mongo?.stop(), rm(keys, { recursive: true, force: true })]);
  });

  /** Keys of Redis, and files of the servers and of the nodes' own directories, that contain the text. */
  async function placesWith(text: string): Promise<string[]> {
    const found: string[] = [];
    const client = new Redis(redis.url);
    for (const key of await client.keys('*')) {
      const type = await client.type(key);
      const values =
        type === 'string'
          ? [await client.getBuffer(key)]
          : type === 'hash'
            ? await client.hvalsBuffer(key)
            : type === 'list'
              ? await client.lrangeBuffer(key, 0, -1)
              : type === 'zset'
                ? await client.zrangeBuffer(key, '0', '-1')
                : type === 'set'
                  ? await client.smembersBuffer(key)
                  : (await client.xrangeBuffer(key, '-', '+')).flatMap(([, fields]) => fields);
      if (values.some((value) => value?.includes(text))) found.push(key);
    }
    client.disconnect();
    const files = [redis.directory, mongo.directory, ...nodes.map(({ directory }) => join(directory, 'data'))];
    for (const directory of files) {
      if (directory === null) continue;
      for await (const [path, content] of liveFiles(directory)) {
        if (content.includes(text)) found.push(path);
      }
    }
    return found;
  }

  test('leave no plain text of a tenant in Redis, its log or the documents, and each reads what the other wrote', async () => {
    const [one, other] = nodes;
    assert.ok(one !== undefined && other !== undefined);
    const agent_id = await one.deploy(agentYaml('teller', { task: { prompt_template: `{{input}} ${CANARY}` } }));
    const runs = await Promise.all(
      Array.from({ length: 8 }, async (_none, at) => {
        const body = { agent_id, input: `steady ${CANARY}`, context: { large: LARGE } };
        const { body: started } = await (at % 2 === 0 ? one : other).json('POST', '/v1/executions', body);
        return String(started.execution_id);
      }),
    );
    assert.deepEqual(await placesWith(CANARY), [], 'while they run');
    for (const [at, id] of runs.entries()) {
      const node = at % 2 === 0 ? other : one;
      const { trace_id } = await waitUntil(
        `${id} to end`,
        async () => {
          const status = await node.statusOf(id);
          return status.status === 'completed' && status;
        },
        30_000,
      );
      await waitUntil('its trace is in the ledger', async () => {
        const { status, body } = await node.call('GET', `/v1/traces/${trace_id}`);
        return status === 200 && body.status === 'completed';
      });
    }
    const { deliveries } = (await one.call('GET', `/v1/actors/execution/${runs[0]}/history`)).body;
    const [first] = Array.isArray(deliveries) ? deliveries : [];
    assert.ok((await one.call('GET', `/v1/messages/${first.message_id}`)).text.includes(CANARY));
    assert.deepEqual(await placesWith(CANARY), []);
    assert.notDeepEqual(await placesWith('#svc-system/1/'), []);
  });

  test('continue with each other’s partitions when one is killed', async () => {
    const [one, other] = nodes;
    assert.ok(one !== undefined && other !== undefined);
    const agent_id = await one.deploy(agentYaml('steady'));
    const runs = await Promise.all(Array.from({ length: 6 }, () => one.run(agent_id, `steady ${CANARY}`)));
    await one.process.kill('SIGKILL');
    for (const id of runs) {
      await waitUntil(`${id} to end`, async () => (await other.statusOf(id)).status === 'completed', 40_000);
    }
    assert.deepEqual(await placesWith(CANARY), []);
  });
});
