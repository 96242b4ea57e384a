import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';
import { it } from 'node:test';
import { Redis } from 'ioredis';
import { connect, lookAfterStreams } from '../../../runtime/redis/connection.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';

const SILENCE_MS = 1_200;

it('a connection whose server sends nothing while a call waits is ended; one without calls stays', {
  skip: redisMissing() ?? false,
  timeout: 300_000,
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

it('a link to Redis that falls silent is given up, and calls go over another one', {
  skip: redisMissing() ?? false,
  timeout: 300_000,
}, async (test) => {
  const server = await startRedis();
  const sockets: Socket[] = [];
  const silent = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = dial(server.port, '127.0.0.1');
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
    sockets.push(client, upstream);
    client.on('data', (bytes) => silent.has(client) || upstream.write(bytes));
    upstream.on('data', (bytes) => silent.has(client) || client.write(bytes));
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  assert.ok(address !== null && typeof address !== 'string');
  const connection = connect(`redis://127.0.0.1:${address.port}`, 'test', 'commands');
  connection.on('error', () => {});
  test.after(async () => {
    connection.disconnect();
    proxy.close();
    for (const socket of sockets) socket.destroy();
    await server.stop();
  });
  await connection.connect();
  assert.equal(await connection.ping(), 'PONG');
  for (const socket of sockets) silent.add(socket);
  const again = new Promise<void>((resolve) => connection.once('ready', () => resolve()));
  await assert.rejects(connection.ping(), /timed out/);
  await again;
  assert.equal(await connection.ping(), 'PONG');
});
