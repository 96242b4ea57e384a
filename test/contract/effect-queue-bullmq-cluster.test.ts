import { test } from 'node:test';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import { MemoryEffectLedger } from '../support/memory-effect-ledger.ts';
import { effect, openEffect, resultOf, runnerOptions, until } from '../support/open-effect.ts';
import { redisMissing } from '../support/redis.ts';
import { type RedisClusterServers, startRedisCluster } from '../support/redis-cluster.ts';
import { effectQueueContract } from './effect-queue.ts';
import { bullmqAdapter, connect } from './effect-queue-bullmq.ts';

const missing = redisMissing();
if (missing === null)
  effectQueueContract(
    bullmqAdapter('BullMQ on a Redis Cluster', () => startRedisCluster()),
    3,
  );
else test('effects on BullMQ on a Redis Cluster', { skip: missing }, () => {});

test('queues of several pools work on a Redis Cluster, each in a slot of its own', {
  skip: missing ?? false,
  timeout: 300_000,
}, async () => {
  const servers: RedisClusterServers = await startRedisCluster();
  try {
    await runOnCluster(servers);
  } finally {
    await servers.stop();
  }
});

async function runOnCluster(servers: RedisClusterServers): Promise<void> {
  const ledger = new MemoryEffectLedger();
  const queue = await connect(ledger, servers.url);
  const queues = ['default', 'gpu', 'system', 'arm'];
  const handlers = [effect('test.ok', async (_, { attempt }) => attempt)];
  const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers, queues }));
  await runner.start();
  const open = async (queue: string) => ({ ...(await openEffect(ledger, { kind: 'test.ok' })), queue });
  const jobs = await Promise.all(queues.map(open));
  for (const job of jobs) await queue.enqueue(job);
  for (const job of jobs) await until(() => resultOf(ledger, job.id), `the result on queue ${job.queue}`);
  await runner.stop();
  await queue.close();
}
