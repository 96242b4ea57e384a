import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { EffectRunner } from '../../runtime/effects/effect-runner.ts';
import { SvcError } from '../../runtime/errors.ts';
import { BullmqEffectQueue } from '../../runtime/redis/bullmq-effect-queue.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { MemoryEffectLedger } from '../support/memory-effect-ledger.ts';
import {
  aborted,
  effect,
  openEffect,
  PARTITION,
  QUEUE,
  resultOf,
  runnerOptions,
  until,
} from '../support/open-effect.ts';
import { redisMissing, startRedis } from '../support/redis.ts';
import { StoreEffectLedger } from '../support/store-effect-ledger.ts';
import { waitUntil } from '../support/wait-until.ts';
import { effectQueueContract } from './effect-queue.ts';
import { bullmqAdapter, connect } from './effect-queue-bullmq.ts';

async function singleRedis() {
  const server = await startRedis();
  return { url: server.url, nodes: [server], stop: () => server.stop() };
}

const missing = redisMissing();
if (missing === null) effectQueueContract(bullmqAdapter('BullMQ on one Redis', singleRedis));
else test('effects on BullMQ', { skip: missing }, () => {});

test('while Redis is away calls are unavailable, and effects run again when it is back', {
  skip: missing ?? false,
  timeout: 300_000,
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
  await until(() => resultOf(ledger, during.id), 'a result after');
  assert.ok(faults.length > 0, 'the loss was reported');
  await runner.stop();
  await queue.close();
  await server.stop();
});

test('a runner stops in bounded time though Redis is gone', { skip: missing ?? false, timeout: 300_000 }, async () => {
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
  assert.ok(Date.now() - asked < 15_000, `stopped after ${Date.now() - asked} ms`);
  await server.stop();
});

test('a queue that is given up while Redis is silent is served again when Redis answers', {
  skip: missing ?? false,
  timeout: 300_000,
}, async () => {
  const server = await startRedis();
  const ledger = new MemoryEffectLedger();
  const queue = new BullmqEffectQueue({ urls: server.url, ledger, onFault: () => {} });
  await queue.open();
  const release = Promise.withResolvers<string>();
  const handlers = [effect('test.held', () => release.promise), effect('test.ok', async () => 'ok')];
  // With one slot there is no free slot for effects without a job.
  const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers, concurrency: 1 }));
  await runner.start();
  await queue.enqueue(await openEffect(ledger, { kind: 'test.held' }));
  await until(() => runner.counts.running === 1, 'a running effect');
  process.kill(server.pid, 'SIGSTOP');
  try {
    // Its job cannot be finished, so closing the worker takes longer than the limit.
    release.resolve('done');
    await runner.serve([]);
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  await runner.serve([QUEUE]);
  const later = await openEffect(ledger, { kind: 'test.ok' });
  await queue.enqueue(later);
  await until(() => resultOf(ledger, later.id), 'a result');
  await runner.stop();
  await queue.close();
  await server.stop();
});

test('an effect that runs on its own node writes no job; one above the free places writes one', {
  skip: missing ?? false,
  timeout: 300_000,
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

for (const concurrency of [1, 4])
  test(`a retry waits for its backoff although the clock is a day ahead when it fails and is set back (${concurrency === 1 ? 'from the queue' : 'without a job'})`, {
    skip: missing ?? false,
    timeout: 300_000,
  }, async (context) => {
    const server = await startRedis();
    const store = new RedisActorStore({ urls: server.url });
    await store.open();
    const ledger = await StoreEffectLedger.over(store, PARTITION);
    const queue = await connect(ledger, server.url);
    const { now } = Date;
    let aheadMs = 0;
    context.mock.method(Date, 'now', () => now() + aheadMs);
    const times: number[] = [];
    const flaky = effect('test.flaky', async () => {
      times.push(performance.now());
      if (times.length > 1) return 'ok';
      aheadMs = 86_400_000;
      throw new SvcError('unavailable', 'the provider is down', { retryAfterMs: BACKOFF_MS });
    });
    const runner = new EffectRunner(runnerOptions({ store: ledger, queue, handlers: [flaky], concurrency }));
    await runner.start();
    const retry = { maxAttempts: 2, initialDelayMs: BACKOFF_MS, maxDelayMs: BACKOFF_MS };
    const job = await openEffect(ledger, { kind: 'test.flaky', retry });
    await queue.enqueue(job);
    const probe = new Redis(server.url);
    await until(() => runner.counts.retried === 1, 'the first attempt to end');
    await waitUntil('BullMQ to have noted it', async () => (await probe.keys('svc-effects:*:active')).length === 0);
    aheadMs = 0;
    await until(() => resultOf(ledger, job.id), 'the second attempt');
    const waited = Number(times[1]) - Number(times[0]);
    assert.ok(waited >= BACKOFF_MS, `it waited ${waited} ms`);
    probe.disconnect();
    await runner.stop();
    await queue.close();
    await ledger.close();
    await store.close();
    await server.stop();
  });

const BACKOFF_MS = 1_000;
