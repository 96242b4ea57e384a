import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { toSvcError } from '../../runtime/errors.ts';
import { MongoDocuments } from '../../runtime/mongo/documents.ts';
import { recoveredWithinMs, WAITS } from '../../runtime/mongo/session.ts';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { type Link, startLink } from '../support/link.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = serversMissing() || (process.env.MONGODB_URI !== undefined && 'not ours to break');
/** Duration of the outage of MongoDB. */
const AWAY_MS = sample({ normal: 15_000, long: 300_000 });
/** Number of bulk writes whose connection is cut. */
const BROKEN_WRITES = sample({ normal: 2, long: 10 });
const YAML = { 'content-type': 'application/yaml' };
/** Time after which the driver gives up, with a margin for a busy machine. */
const CALL_LIMIT_MS = 20_000;
/** Time until a healthy store serves again: the waits of the driver, with a margin for a busy machine. */
const RECOVERY_LIMIT_MS = recoveredWithinMs(WAITS) + 10_000;

describe('a node whose MongoDB fails', { skip, timeout: AWAY_MS + 120_000 }, () => {
  let redis: RedisServer;
  let mongo: TestMongo;
  let link: Link;
  let node: ProductNode;
  let agent = '';

  before(async () => {
    [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
    link = await startLink(Number(new URL(mongo.uri).port));
    const mongodb = mongo.uri.replace(new URL(mongo.uri).port, String(link.port));
    node = await ProductNode.start({ spec: { kernel: { partitions: 16 }, stores: { redis: redis.url, mongodb } } });
    agent = await node.deploy(agentYaml('talker'));
  });
  after(async () => {
    await node?.[Symbol.asyncDispose]();
    await link?.close();
    await Promise.all([redis?.stop(), mongo?.stop()]);
  });

  const listed = (ids: readonly string[], timeoutMs = 30_000): Promise<unknown> =>
    waitUntil(
      `${ids.length} executions are in the list as completed`,
      async () => {
        const { text } = await node.call('GET', '/v1/executions?limit=1000&status=completed');
        return ids.every((id) => text.includes(id));
      },
      timeoutMs,
    );
  /** MongoDB is healthy: waits for the first execution that is accepted. */
  const takenAgain = (): Promise<string> =>
    waitUntil(
      'a start is accepted again',
      async () => {
        const { status, body } = await node.json('POST', '/v1/executions', { agent_id: agent, input: 'quick' });
        return status === 200 && String(body.execution_id);
      },
      RECOVERY_LIMIT_MS,
    );
  const runs = (input: string) =>
    Promise.all(Array.from({ length: sample({ normal: 2, long: 10 }) }, () => node.run(agent, input)));

  test('MongoDB 50 ms away in each direction: calls take longer, executions complete and are listed', async () => {
    link.slow(50);
    const ids = await runs('quick');
    await node.completed(ids);
    await listed(ids);
    link.heal();
  });

  test('MongoDB is down for longer than caches are valid: running executions complete, calls that need it end as 503 in time, lists catch up afterwards', async () => {
    // Longer than the lifetime of cached reads: the answer of the model comes during the outage.
    const ids = await runs('slow');
    const followed = ids.map((id) => node.call('GET', `/v1/executions/${id}/stream`));
    const awaySince = performance.now();
    link.refuse();
    const refused = await node.call('POST', '/v1/agents?force=true', { body: agentYaml('late'), headers: YAML });
    assert.equal(refused.status, 503, refused.text);
    assert.equal(refused.body.error, 'unavailable');
    assert.doesNotMatch(refused.text, /127\.0\.0\.1|mongodb:|\n\s+at /);
    const start = await node.json('POST', '/v1/executions', { agent_id: agent, input: 'quick' });
    assert.equal(start.status, 503, 'a start looks up its agent');
    assert.ok(performance.now() - awaySince < 2 * CALL_LIMIT_MS, 'both calls ended in time');
    assert.equal((await node.call('GET', '/health')).status, 200);
    for (const { text } of await Promise.all(followed)) {
      assert.match(text, /"execution_completed"/);
      assert.doesNotMatch(text, /"iteration_failed"/, 'no answer is lost, and no model is called twice');
    }
    await waitUntil(
      'MongoDB was away for long enough',
      async () => {
        assert.equal((await node.call('GET', '/health/ready')).status, 200, 'its leases are in Redis');
        return performance.now() - awaySince > AWAY_MS;
      },
      AWAY_MS + 20_000,
    );
    link.heal();
    const late = await takenAgain();
    await node.completed([...ids, late]);
    await listed([...ids, late]);
    assert.ok(!node.process.crashed, node.process.log);
  });

  test('a bulk write whose connection breaks ends as unavailable, and may be repeated', async (context) => {
    const between = await startLink(Number(new URL(mongo.uri).port));
    context.after(() => between.close());
    const uri = mongo.uri.replace(new URL(mongo.uri).port, String(between.port));
    const documents = new MongoDocuments({ uri, database: 'bulk' });
    context.after(() => documents.close());
    await documents.open();
    const notes = await documents.collection({ name: 'notes', unique: [], indexes: [] });
    const many = Array.from({ length: 50 }, (_, at) => ({ tenant: 'acme', id: String(at), version: 1 }));
    await notes.putMany(many);
    for (let round = 2; round < 2 + BROKEN_WRITES; round += 1) {
      // The proxy withholds all answers, and then the connections end.
      between.cut('from-store');
      const { toStore } = between.passed;
      const writing = notes.putMany(many.map((note) => ({ ...note, version: round })));
      const ended = assert.rejects(writing, { code: 'unavailable' });
      await waitUntil('the write is on its way', () => between.passed.toStore > toStore);
      between.refuse();
      await ended;
      between.heal();
      // The driver may still have a connection that was cut: then the repeat ends as unavailable too, and is repeated.
      await waitUntil(
        'the repeated write to be taken',
        () =>
          notes.putMany(many.map((note) => ({ ...note, version: round }))).then(
            () => true,
            (error: unknown) => {
              if (toSvcError(error).code === 'unavailable') return false;
              throw error;
            },
          ),
        RECOVERY_LIMIT_MS,
      );
    }
    assert.equal((await notes.get('acme', '7'))?.version, 1 + BROKEN_WRITES);
  });

  test('MongoDB is cut off without a reset: calls still end in time, and work again when it is back', async () => {
    link.cut('both');
    const begun = performance.now();
    const refused = await node.call('POST', '/v1/agents?force=true', { body: agentYaml('mute'), headers: YAML });
    const tookMs = Math.round(performance.now() - begun);
    console.log(`a deploy was answered ${refused.status} ${String(refused.body.error)} after ${tookMs} ms`);
    assert.equal(refused.status, 503, refused.text);
    link.heal();
    const first = await takenAgain();
    const ids = [first, ...(await runs('quick'))];
    await node.completed(ids);
    await listed(ids);
  });
});
