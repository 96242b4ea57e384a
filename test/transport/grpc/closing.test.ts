import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { credentials, makeGenericClientConstructor, type ServiceError } from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import { waitUntil } from '../../support/wait-until.ts';
import { grpcServer } from './grpc-server.ts';

const HealthClient = makeGenericClientConstructor(service, 'grpc.health.v1.Health');

/** A server with one health call under way; `finish` lets it be answered. */
async function withCall(closeGraceMs: number) {
  const it = await grpcServer({ closeGraceMs });
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  let isAsked = false;
  Object.defineProperty(it.readiness, 'until', {
    get: () => {
      isAsked = true;
      return promise;
    },
  });
  const client = new HealthClient(it.address, credentials.createInsecure());
  const answer = new Promise<{ error: ServiceError | null; status?: string }>((resolve) => {
    client.check?.({ service: '' }, (error: ServiceError | null, health?: { status: string }) =>
      resolve(health === undefined ? { error } : { error, status: health.status }),
    );
  });
  await waitUntil('the call is under way', () => isAsked);
  return { it, finish, answer, client };
}

describe('a gRPC server that closes', () => {
  test('answers the calls under way before its connections end', async () => {
    const { it, finish, answer, client } = await withCall(10_000);
    await using _scene = it;
    let isClosed = false;
    const closing = it.server.close().then(() => {
      isClosed = true;
    });
    // A connection made now is refused: the server has begun to close.
    await assert.rejects(once(connect(Number(it.address.split(':')[1]), '127.0.0.1'), 'connect'));
    assert.equal(isClosed, false);
    finish();
    assert.deepEqual(await answer, { error: null, status: 'SERVING' });
    await closing;
    client.close();
  });

  test('cuts a call that outlasts the time they are given', async () => {
    const { it, answer, client } = await withCall(50);
    await using _scene = it;
    await it.server.close();
    assert.equal((await answer).error?.code, 14);
    client.close();
  });

  test('does not wait for a connection without traffic', async () => {
    await using it = await grpcServer({ closeGraceMs: 60_000 });
    const silent = connect(Number(it.address.split(':')[1]), '127.0.0.1');
    const over = once(silent, 'close');
    await once(silent, 'connect');
    silent.resume();
    await Promise.all([it.server.close(), over]);
  });
});
