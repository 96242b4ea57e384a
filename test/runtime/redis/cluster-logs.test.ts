import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { addressOf, isSharedLog } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../../runtime/effects/embedded-effect-queue.ts';
import { connect } from '../../../runtime/redis/connection.ts';
import { SLOT_TAGS } from '../../../runtime/redis/keys.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { startRuntime } from '../../../runtime/runtime.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { formatFact, parseFormatNote, refuseUnreadable, TAGS_FORMAT } from '../../../runtime/store-formats.ts';
import { counter } from '../../support/actors.ts';
import { redisMissing } from '../../support/redis.ts';
import { type RedisClusterServers, startRedisCluster } from '../../support/redis-cluster.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Two for each tag. */
const PARTITIONS = 2 * SLOT_TAGS;

describe('shared logs on a Redis Cluster', { skip: redisMissing() ?? false }, () => {
  let servers: RedisClusterServers;
  let directory: string;
  before(async () => {
    servers = await startRedisCluster();
    directory = await mkdtemp(join(tmpdir(), 'svc-cluster-logs-'));
  });
  after(async () => {
    await servers.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const openStore = async (prefix: string): Promise<RedisActorStore> => {
    const store = new RedisActorStore({ urls: servers.url, prefix });
    await store.open();
    return store;
  };

  test('a node has one log for each slot, which ends with the node, and the next node continues', async () => {
    const store = await openStore('logs');
    const [documents, blobs] = [new SqliteDocuments({ directory }), new FileBlobs({ directory })];
    for (const port of [documents, blobs]) await port.open();
    const committed = new Set<string>();
    const commit = store.commit;
    store.commit = (asked, readAhead) => {
      if (isSharedLog(asked.lease.log) && (asked.partitions?.length ?? 0) > 0) committed.add(asked.lease.log);
      return commit(asked, readAhead);
    };
    const counters = Array.from({ length: 200 }, (_, n) => addressOf('counter', 'acme', `c${n}`));
    const logs = () => store.sharedLogs?.list() ?? assert.fail('no shared logs');
    for (const expected of [1, 2]) {
      const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
      await effects.open();
      const warnings: string[] = [];
      const runtime = await startRuntime({
        ...{ store, documents, blobs, effects, node: 'node-a', definitions: [counter], handlers: [] },
        settings: { partitions: PARTITIONS, systemPartitions: 1, shareAfterMs: 20 },
        warn: (message, error) => warnings.push(`${message}: ${String(error)}`),
      });
      await waitUntil('a log for each slot', async () => (await logs()).length === SLOT_TAGS);
      const ask = () => counters.map((to) => runtime.client.ask(to, 'Add', { by: 1 }, { timeoutMs: 10_000 }));
      assert.deepEqual(new Set(await Promise.all(ask())), new Set([expected]));
      await runtime.stop();
      assert.deepEqual(await logs(), []);
      assert.deepEqual(warnings, []);
    }
    assert.ok(committed.size >= SLOT_TAGS, `${committed.size} logs had commits`);
    for (const port of [store, documents, blobs]) await port.close();
  });

  test('a store with slots together is refused by programs of the format before the slots', async () => {
    const store = await openStore('noted');
    const note = parseFormatNote('the store', (await store.facts()).get(formatFact(TAGS_FORMAT)) ?? '');
    assert.equal(note.min_reader, TAGS_FORMAT);
    refuseUnreadable('the store', [note]);
    await store.close();
  });

  test('a store that lost its format note in a failover has its slots still: its pools name them too', async () => {
    const store = await openStore('lost');
    assert.equal(await store.definePool('default', 4), 4);
    const connection = connect(servers.url, 'test', 'commands');
    await connection.connect();
    await connection.del('lost:facts');
    const again = await openStore('lost');
    assert.equal(again.sharedLogs?.tagOf('default:3'), 't3');
    assert.equal(await connection.hget('lost:facts', 'slot_tags'), String(SLOT_TAGS));
    connection.disconnect();
    for (const one of [store, again]) await one.close();
  });
});
