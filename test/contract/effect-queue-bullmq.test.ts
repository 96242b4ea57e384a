import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import { BullmqEffectQueue } from '../../runtime/redis/bullmq-effect-queue.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { aborted, effect, openEffect, PARTITION, resultOf, runnerOptions, until } from '../support/effect-world.ts';
import { MemoryEffectLedger, type TestLedger } from '../support/memory-effect-ledger.ts';
import { type RedisServer, redisMissing, startRedis } from '../support/redis.ts';
import { type RedisClusterServers, startRedisCluster } from '../support/redis-cluster.ts';
import { StoreEffectLedger } from '../support/store-effect-ledger.ts';
import { effectQueueContract, type QueueAdapter, type Victim } from './effect-queue.ts';

const onFault = (error: unknown) => {
  throw error;
};

async function connect(ledger: TestLedger, urls: string): Promise<BullmqEffectQueue> {
  const queue = new BullmqEffectQueue({ urls, ledger, onFault });
  await queue.open();
  return queue;
}

/** A real process on the same Redis, killed with SIGKILL. */
async function victim(ledger: TestLedger, url: string): Promise<Victim> {
  const child = fork(new URL('../support/effect-node.ts', import.meta.url), [url]);
  await serveLedger(child, ledger);
  return {
    async kill() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async lateResult(effectId) {
      await ledger.settleEffect(PARTITION, effectId, 1, { id: 'late', to: 'probe/acme/x', body: '{}' });
    },
  };
}

type Call = { readonly call: number; readonly method: 'claimEffect' | 'keepEffect'; readonly args: never };

function serveLedger(child: ChildProcess, ledger: TestLedger): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the node ended early with code ${code}`)));
    child.on('message', (message: Call | { readonly ready: true }) => {
      if ('ready' in message) return resolve();
      const answer: Promise<unknown> = Reflect.apply(ledger[message.method], ledger, message.args);
      answer.then((value) => child.connected && child.send({ call: message.call, value }), reject);
    });
  });
}

function singleRedis(): QueueAdapter {
  let server: RedisServer;
  let ledgers = 0;
  return {
    name: 'BullMQ on one Redis',
    start: async () => {
      server = await startRedis();
    },
    stop: () => server.stop(),
    async ledger() {
      const store = new RedisActorStore({ urls: server.url, prefix: `t${++ledgers}` });
      await store.open();
      return StoreEffectLedger.over(store, PARTITION);
    },
    connect: (ledger) => connect(ledger, server.url),
    victim: (ledger) => victim(ledger, server.url),
    async loseJobs() {
      const admin = new Redis(server.url);
      const keys = await admin.keys('svc-effects:*');
      assert.ok(keys.length > 0, 'jobs wait in Redis');
      await admin.del(...keys);
      await admin.quit();
    },
  };
}

const missing = redisMissing();
if (missing === null) effectQueueContract(singleRedis());
else test('effects on BullMQ', { skip: missing }, () => {});

test('effects on BullMQ work on a Redis Cluster', { skip: missing ?? false, timeout: 60_000 }, async () => {
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

test('a Redis that goes away refuses as unavailable, and work goes on when it is back', {
  skip: missing ?? false,
  timeout: 30_000,
}, async () => {
  const server = await startRedis();
  const ledger = new MemoryEffectLedger();
  const faults: unknown[] = [];
  const queue = new BullmqEffectQueue({ urls: server.url, ledger, onFault: (error) => faults.push(error) });
  await queue.open();
  const handlers = [effect('test.ok', async () => 'ok')];
  const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers, concurrency: 1 }));
  await runner.start();
  const before = await openEffect(ledger, { kind: 'test.ok' });
  await queue.enqueue(before);
  await until(() => resultOf(ledger, before.id), 'a result before');
  await server.kill();
  const during = await openEffect(ledger, { kind: 'test.ok' });
  await assert.rejects(queue.enqueue(during), { code: 'unavailable' });
  await server.restart();
  await queue.enqueue(during);
  await until(() => resultOf(ledger, during.id), 'a result after', 15_000);
  assert.ok(faults.length > 0, 'the loss was told');
  await runner.stop();
  await queue.close();
  await server.stop();
});

test('a runner stops in bounded time though Redis is gone', { skip: missing ?? false, timeout: 30_000 }, async () => {
  const server = await startRedis();
  const ledger = new MemoryEffectLedger();
  const queue = new BullmqEffectQueue({ urls: server.url, ledger, onFault: () => {} });
  await queue.open();
  const hang = effect('test.hang', (_, { signal }) => aborted(signal));
  const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers: [hang] }));
  await runner.start();
  await queue.enqueue(await openEffect(ledger, { kind: 'test.hang' }));
  await until(() => runner.counts.running === 1, 'a running effect');
  await server.kill();
  const asked = Date.now();
  await runner.stop();
  await queue.close();
  assert.ok(Date.now() - asked < 8_000, `stopped after ${Date.now() - asked} ms`);
  await server.stop();
});

test('an effect that its own node has a place for writes no job, what exceeds the places does', {
  skip: missing ?? false,
  timeout: 30_000,
}, async () => {
  const server = await startRedis();
  const ledger = new MemoryEffectLedger();
  const queue = await connect(ledger, server.url);
  const going = Promise.withResolvers<void>();
  const wait = effect('test.wait', async () => going.promise.then(() => 'ok'));
  const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers: [wait], concurrency: 2 }));
  await runner.start();
  const probe = new Redis(server.url);
  const jobs = [await openEffect(ledger, { kind: 'test.wait' }), await openEffect(ledger, { kind: 'test.wait' })];
  for (const [index, job] of jobs.entries()) {
    await queue.enqueue(job);
    await until(() => runner.counts.running === index + 1, `effect ${index + 1} to run`);
    assert.equal((await probe.keys(`*${job.id}`)).length, index, `jobs in Redis of effect ${index + 1}`);
  }
  going.resolve();
  for (const job of jobs) await until(() => resultOf(ledger, job.id), 'a result');
  probe.disconnect();
  await runner.stop();
  await queue.close();
  await server.stop();
});
