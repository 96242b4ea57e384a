import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { SvcError } from '../../runtime/errors.ts';
import { RedisRateLimits } from '../../runtime/redis/rate-limits.ts';
import { redisMissing, startRedis } from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { waitUntil } from '../support/wait-until.ts';
import { rateLimitsContract } from './rate-limits.ts';

const skip = redisMissing() ?? false;

const setup = (start: () => Promise<{ readonly url: string; stop(): Promise<void> }>) => async () => {
  const server = await start();
  const opened: RedisRateLimits[] = [];
  const prefix = `t${randomBytes(6).toString('hex')}`;
  const another = async () => {
    const limits = new RedisRateLimits({ urls: server.url, prefix });
    opened.push(limits);
    await limits.open();
    return limits;
  };
  return {
    limits: await another(),
    another,
    async stop() {
      for (const one of opened) await one.close();
      await server.stop();
    },
  };
};

rateLimitsContract('Redis', setup(startRedis), { skip });
rateLimitsContract(
  'Redis Cluster',
  setup(() => startRedisCluster()),
  { skip },
);

test('counters expire with their window, and functions that were flushed are loaded again', { skip }, async (t) => {
  const server = await startRedis();
  t.after(() => server.stop());
  const limits = new RedisRateLimits({ urls: server.url });
  await limits.open();
  t.after(() => limits.close());
  const admin = new Redis(server.url);
  t.after(() => admin.disconnect());
  await admin.call('FUNCTION', 'FLUSH');
  const outcome = await limits.take('acme', [
    { key: 'short', limit: 9, windowMs: 200 },
    { key: 'long', limit: 9, windowMs: 86_400_000 },
  ]);
  assert.deepEqual(outcome, { taken: true });
  const [long = ''] = await admin.keys('*:long');
  const ttlMs = await admin.pttl(long);
  assert.ok(ttlMs > 0 && ttlMs <= 86_400_000, `${ttlMs} ms`);
  await waitUntil('the short counter is gone', async () => (await admin.keys('*:short')).length === 0);
});

test('without Redis a call is unavailable, never let through', { skip }, async (t) => {
  const server = await startRedis();
  t.after(() => server.stop());
  const limits = new RedisRateLimits({ urls: server.url });
  await limits.open();
  t.after(() => limits.close());
  const bound = { key: 'k', limit: 9, windowMs: 60_000 };
  await server.kill();
  await assert.rejects(
    limits.take('acme', [bound]),
    (error) => error instanceof SvcError && error.code === 'unavailable',
  );
  await server.restart();
  await waitUntil('the counters are back', () =>
    limits.take('acme', [bound]).then(
      ({ taken }) => taken,
      () => false,
    ),
  );
});
