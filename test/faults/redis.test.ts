import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = serversMissing();
const MANY = sample({ normal: 3, long: 8 });
/** Margin for a machine that runs other tests at the same time. */
const BUSY_MS = 2_500;
/** Streams stay open for ever, or until their run ends. */
const ENDLESS = /stream|\/feed|\/tap/;
const Description = z.object({ paths: z.record(z.string(), z.looseObject({ get: z.unknown().optional() })) });

/** The view of a REST client of one node while Redis fails, and afterwards. */
describe('a node whose Redis fails', { skip, timeout: 300_000 }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let node: ProductNode;
  let admin: Redis;
  let agent = '';

  before(async () => {
    [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
    admin = new Redis(redis.url, { retryStrategy: () => 20 });
    admin.on('error', () => {});
    const kernel = { partitions: 16, lease_ttl_ms: 3_000, lease_renew_ms: 1_000 };
    node = await ProductNode.start({ spec: { kernel, stores: { redis: redis.url, mongodb: mongo.uri } } });
    agent = await node.deploy(agentYaml('talker'));
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    admin?.disconnect();
    await Promise.all([redis?.stop(), mongo?.stop()]);
  });

  const start = (key: string) =>
    node.json('POST', '/v1/executions', { agent_id: agent, input: 'steady' }, { 'idempotency-key': key });
  const isReady = async (): Promise<boolean> => (await node.call('GET', '/health/ready')).status === 200;

  /** A start that is repeated under its key until it is accepted, as clients do. */
  const taken = (key: string): Promise<string> =>
    waitUntil(
      `start ${key} is accepted`,
      async () => {
        const { status, text, body } = await start(key);
        if (status === 200) return String(body.execution_id);
        assert.ok([503, 504].includes(status), `${status} ${text}`);
        return false;
      },
      30_000,
    );

  async function through(what: string, breakIt: () => Promise<unknown>, mend: () => Promise<unknown>, word: RegExp) {
    const keys = Array.from({ length: MANY }, (_, at) => `${what}-${at}`);
    const running = await Promise.all(keys.map(taken));
    await breakIt();
    const begun = performance.now();
    const refused = await start(`${what}-during`);
    assert.ok([503, 504].includes(refused.status), `${refused.status} ${refused.text}`);
    assert.match(String(refused.body.error), /unavailable|deadline_exceeded/);
    assert.match(refused.text, word);
    assert.doesNotMatch(refused.text, /127\.0\.0\.1|\n\s+at /);
    console.log(`${what}: ${refused.status} ${refused.body.error} after ${Math.round(performance.now() - begun)} ms`);
    assert.equal((await node.call('GET', '/health')).status, 200);
    await mend();
    const during = await taken(`${what}-during`);
    await node.completed([...running, during]);
    assert.deepEqual(await Promise.all(keys.map(taken)), running, 'the same keys are the same executions');
    await waitUntil('the node is ready', isReady);
    assert.ok(!node.process.crashed, node.process.log);
  }

  test('READONLY after a failover: starts are refused as unavailable, and everything continues when there is a master again', () =>
    through(
      'readonly',
      () => admin.call('REPLICAOF', '127.0.0.1', '1'),
      () => admin.call('REPLICAOF', 'NO', 'ONE'),
      /Redis|answer/,
    ));

  test('Redis is out of memory: a start is refused as unavailable soon, leases are kept, and everything continues when there is memory', async () => {
    const before = await taken('before-oom');
    await admin.config('SET', 'maxmemory', '1mb');
    const begun = performance.now();
    const { status, text, body } = await start('during-oom');
    console.log(`oom: the start was answered ${status} after ${Math.round(performance.now() - begun)} ms`);
    assert.deepEqual([status, body.error], [503, 'unavailable'], text);
    // Longer than a lease: the renewal of a lease needs no memory.
    const enoughMs = 5_000;
    await waitUntil(
      'a lease would have run out',
      async () => {
        assert.ok(await isReady());
        return performance.now() - begun > enoughMs;
      },
      enoughMs + 10_000,
    );
    await admin.config('SET', 'maxmemory', '0');
    await node.completed([before, await taken('during-oom')]);
  });

  test('while Redis is down every route that reads or starts something answers within 2 s', async () => {
    const { text } = await node.call('GET', '/v1/openapi.json');
    const { paths } = Description.parse(JSON.parse(text));
    const id = crypto.randomUUID();
    const reads = Object.entries(paths)
      .filter(([path, { get }]) => get !== undefined && !ENDLESS.test(path))
      .map(([path]) => ['GET', path.replaceAll(/\{\w+\}/g, id), undefined] as const);
    const starts = [
      ['POST', '/v1/executions', { agent_id: agent, input: 'steady' }],
      ['POST', '/v1/stimuli', { source: 'http_api', content: 'x' }],
      ['POST', `/v1/agents/${agent}/execute`, {}],
      ['POST', `/v1/executions/${id}/cancel`, {}],
      ['POST', `/v1/workflows/executions/${id}/signal`, { response: 'yes' }],
      ['POST', `/v1/human-approvals/${id}/approve`, {}],
    ] as const;
    await redis.kill();
    try {
      const late: string[] = [];
      for (const [method, path, body] of [...reads, ...starts]) {
        const begun = performance.now();
        const { status } = await node.json(method, path, body);
        const ms = Math.round(performance.now() - begun);
        if (ms > 2_000 + BUSY_MS) late.push(`${method} ${path}: ${status} after ${ms} ms`);
      }
      assert.deepEqual(late, []);
    } finally {
      await redis.restart();
    }
    await waitUntil('the node is ready', isReady, 30_000);
    await node.completed([await taken('after-away')]);
  });

  test('Redis killed for longer than a lease: the node is not ready meanwhile, and everything continues afterwards', () =>
    through(
      'killed',
      () => redis.kill(),
      async () => {
        await waitUntil('the node is not ready', async () => !(await isReady()));
        await redis.restart();
      },
      /Redis|answer/,
    ));

  test('functions and scripts are flushed under load: no call fails', async () => {
    const ids: string[] = [];
    for (let round = 0; round < sample({ normal: 1, long: 5 }); round += 1) {
      const starts = Promise.all(Array.from({ length: MANY }, (_, at) => start(`flush-${round}-${at}`)));
      await admin.call('FUNCTION', 'FLUSH');
      await admin.script('FLUSH');
      for (const { status, text, body } of await starts) {
        assert.equal(status, 200, text);
        ids.push(String(body.execution_id));
      }
    }
    await node.completed(ids);
  });

  test('Redis is emptied: the node reports it and is not ready, documents in MongoDB stay, and a restart serves new runs', async () => {
    const old = await taken('before-empty');
    await node.completed([old]);
    await waitUntil('the list has it', async () => {
      const { text } = await node.call('GET', '/v1/executions?limit=1000&status=completed');
      return text.includes(old);
    });
    await admin.call('FLUSHALL');
    await waitUntil('the node is not ready', async () => !(await isReady()));
    await waitUntil('the log reports it', () => node.process.log.includes('the store has no pools: it was emptied'));
    await node.process.stop();
    await node.spawn();
    const fresh = await taken('after-empty');
    await node.completed([fresh]);
    assert.equal((await node.call('GET', `/v1/agents/${agent}`)).status, 200, 'the catalog is in MongoDB');
    assert.equal((await node.statusOf(old)).status, 'completed', 'runs that had ended are in the archive');
    await waitUntil('the list has both', async () => {
      const { text } = await node.call('GET', '/v1/executions?limit=1000&status=completed');
      return text.includes(old) && text.includes(fresh);
    });
    await waitUntil('the node is ready', isReady);
  });
});
