import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ClientReadableStream, credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import { waitUntil } from '../../support/wait-until.ts';
import { unary } from './call.ts';
import { grpcServer } from './grpc-server.ts';

const HealthClient = makeGenericClientConstructor(service, 'grpc.health.v1.Health');
const NAMES = ['', 'svc.runtime.v1.SvcRuntime'];

async function healthServer() {
  const it = await grpcServer();
  const client = new HealthClient(it.address, credentials.createInsecure());
  const check = (name: string) => unary((callback) => client.check?.({ service: name }, callback));
  return { it, client, check };
}

describe('grpc.health.v1.Health', () => {
  test('reports the readiness of the server and of each service, as it is now', async () => {
    const { it, client, check } = await healthServer();
    await using _ = it;
    for (const name of NAMES) assert.deepEqual((await check(name)).answer, { status: 'SERVING' });
    it.readiness.now = { ready: false, why: 'no partition' };
    for (const name of NAMES) assert.deepEqual((await check(name)).answer, { status: 'NOT_SERVING' });
    it.readiness.failure = new Error('broken');
    assert.deepEqual((await check('')).answer, { status: 'NOT_SERVING' });
    client.close();
  });

  test('an unknown service is NOT_FOUND', async () => {
    const { it, client, check } = await healthServer();
    await using _ = it;
    assert.equal((await check('svc.runtime.v1.Nothing')).code, 'NOT_FOUND');
    client.close();
  });

  test('lists all services', async () => {
    const { it, client } = await healthServer();
    await using _ = it;
    const { answer } = await unary((callback) => client.list?.({}, callback));
    assert.deepEqual(Object.keys(Object(Object(answer).statuses)).sort(), NAMES);
    client.close();
  });

  test('a watcher gets the present status and each change; the server closes although it watches', async () => {
    const { it, client } = await healthServer();
    await using _ = it;
    const seen: unknown[] = [];
    const call: ClientReadableStream<{ status: string }> = client.watch?.({ service: '' });
    call.on('data', ({ status }) => seen.push(status));
    const ended = new Promise((resolve) => call.once('status', resolve));
    call.on('error', () => {});
    await waitUntil('the first status', () => seen.length === 1);
    it.readiness.now = { ready: false };
    await waitUntil('the second status', () => seen.length === 2);
    it.readiness.now = { ready: true };
    await waitUntil('the third status', () => seen.length === 3);
    assert.deepEqual(seen, ['SERVING', 'NOT_SERVING', 'SERVING']);
    await it.server.close();
    await ended;
    client.close();
  });

  test('a watcher of an unknown service gets SERVICE_UNKNOWN', async () => {
    const { it, client } = await healthServer();
    await using _ = it;
    const call: ClientReadableStream<{ status: string }> = client.watch?.({ service: 'nobody' });
    call.on('error', () => {});
    const { status } = await new Promise<{ status: string }>((resolve) => call.once('data', resolve));
    assert.equal(status, 'SERVICE_UNKNOWN');
    call.cancel();
    client.close();
  });
});
