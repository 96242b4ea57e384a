import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Redis } from 'ioredis';
import { lookAfterStreams } from '../../../runtime/redis/open-streams.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';

const SILENCE_MS = 1_200;

it('a connection whose server sends nothing while a call waits is ended; one without calls stays', {
  skip: redisMissing() ?? false,
  timeout: 60_000,
}, async (test) => {
  const server = await startRedis();
  const [calling, idle] = [0, 1].map(() => new Redis(server.url, { lazyConnect: true, retryStrategy: () => null }));
  assert.ok(calling !== undefined && idle !== undefined);
  test.after(async () => {
    process.kill(server.pid, 'SIGCONT');
    for (const client of [calling, idle]) client.disconnect();
    await server.stop();
  });
  for (const client of [calling, idle]) {
    client.on('error', () => {});
    lookAfterStreams(client, SILENCE_MS);
    await client.connect();
    assert.equal(await client.ping(), 'PONG');
  }
  const ended = new Promise<void>((resolve) => calling.once('close', () => resolve()));
  process.kill(server.pid, 'SIGSTOP');
  const calledAt = performance.now();
  await Promise.all([assert.rejects(calling.ping()), ended]);
  assert.ok(performance.now() - calledAt >= SILENCE_MS, 'a server may be silent for a while');
  assert.equal(idle.status, 'ready');
  process.kill(server.pid, 'SIGCONT');
  assert.equal(await idle.ping(), 'PONG');
});
