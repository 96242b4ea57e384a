import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import { SvcRuntimeService } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { createAuthenticator } from '../../../security/authenticator.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { FakeCatalog } from '../rest/fake-catalog.ts';
import { FakeExecutions } from '../rest/fake-executions.ts';
import { ended, framed, metadataOf, request, text, unary } from './call.ts';
import { bytesClient, grpcServer } from './grpc-server.ts';

const MiB = 1024 * 1024;

describe('limits of the gRPC server', () => {
  test('a message of 20 MB is refused with INVALID_ARGUMENT, as over REST with 413, and the server goes on', async () => {
    await using it = await grpcServer();
    const run = await ended(it.client.executeAgent(request(it.agentId, 'x'.repeat(20 * MiB))));
    assert.equal(run.code, 'INVALID_ARGUMENT');
    assert.equal(text(run.status.metadata, 'svc-error-code'), 'payload_too_large');
    assert.equal(it.executions.starts.length, 0);
    await it.run();
  });

  test('a payload of 16 MiB fits with its envelope', async () => {
    await using it = await grpcServer();
    const call = it.client.executeAgent(request(it.agentId, 'x'.repeat(16 * MiB)));
    await it.run(call);
    assert.equal(it.executions.starts[0]?.request.input.length, 16 * MiB);
    call.cancel();
  });

  test('more metadata than the limit is INVALID_ARGUMENT before a message is read', async () => {
    await using it = await grpcServer();
    const run = await ended(
      it.client.executeAgent(request(it.agentId), metadataOf({ 'x-large': 'y'.repeat(17 * 1024) })),
    );
    assert.equal(run.code, 'INVALID_ARGUMENT');
    assert.equal(text(run.status.metadata, 'svc-error-code'), 'headers_too_large');
  });

  test('bytes that are no message of the method are INVALID_ARGUMENT', async () => {
    await using it = await grpcServer();
    const client = bytesClient(it.address);
    const broken = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x01]);
    const answer = await unary((callback) => client.AttestAgent?.(broken, callback));
    assert.equal(answer.code, 'INVALID_ARGUMENT');
    assert.equal(answer.details, 'the request is not a valid message of this method');
    client.close();
  });

  test('text that is not UTF-8 is INVALID_ARGUMENT instead of another text', async () => {
    await using it = await grpcServer();
    const client = bytesClient(it.address);
    const answerTo = (bytes: number[]) =>
      unary((callback) => client.AttestAgent?.(Buffer.from([0x0a, bytes.length, ...bytes]), callback));
    for (const bytes of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const { code, details } = await answerTo(bytes);
      assert.deepEqual([code, details], ['INVALID_ARGUMENT', 'the request has text that is not valid UTF-8']);
    }
    assert.doesNotMatch((await answerTo([0xef, 0xbb, 0xbf, 0xc3, 0xa9])).details, /UTF-8/);
    client.close();
  });

  test('a whole number that cannot be kept exactly is INVALID_ARGUMENT, with the largest that can', async () => {
    await using it = await grpcServer();
    // agent_id "a", then security_policy.resource_limits.memory_bytes as an unsigned varint.
    const asking = (memory: number[]): Buffer => {
      const limits = [0x10, ...memory];
      const policy = [0x1a, limits.length, ...limits];
      return Buffer.from([0x0a, 0x01, 0x61, 0x22, policy.length, ...policy]);
    };
    const bytes = (value: Buffer): Buffer => value;
    const answerTo = (memory: number[]): Promise<string> =>
      new Promise((resolve) => {
        const call = it.client.makeServerStreamRequest(
          SvcRuntimeService.executeAgent.path,
          bytes,
          bytes,
          asking(memory),
        );
        call.on('error', () => {});
        call.on('status', ({ details }) => resolve(details));
        call.resume();
      });
    const largest = [...Array(9).fill(0xff), 0x01];
    assert.equal(await answerTo(largest), 'the request has a whole number above 9007199254740991');
    assert.equal(await answerTo([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]), await answerTo(largest));
    assert.doesNotMatch(await answerTo([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]), /the request/);
  });

  test('a deadline further away than a timer waits does not end a call', async () => {
    await using it = await grpcServer();
    const session = connect(`http://${it.address}`);
    const held = Promise.withResolvers<void>();
    it.readiness.until = held.promise;
    const check = (timeout: string): Promise<unknown> =>
      new Promise((resolve) => {
        const path = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', te: 'trailers' };
        const stream = session.request({ ...path, 'content-type': 'application/grpc', 'grpc-timeout': timeout });
        for (const event of ['response', 'trailers'])
          stream.on(event, (headers) => headers['grpc-status'] !== undefined && resolve(headers['grpc-status']));
        stream.resume();
        stream.end(framed(Buffer.alloc(0)));
      });
    const far = ['2147484S', '35792M', '597H', '99999999H', '99999999M', '99999999S', '2147483S', '99999999m'];
    const checks = far.map(check);
    // A call that came later and has a near deadline ends by it: each wrong deadline of 0 has passed by then.
    assert.equal(await check('50m'), String(status.DEADLINE_EXCEEDED));
    held.resolve();
    assert.deepEqual(await Promise.all(checks), Array(far.length).fill(String(status.OK)));
    session.destroy();
  });

  test('a message of more than 100,000 fields is refused before they are built', async () => {
    await using it = await grpcServer();
    const client = bytesClient(it.address);
    // Two bytes each: field 3, a judge without content.
    const judges = Buffer.alloc(2 * 100_001, Buffer.from([0x1a, 0x00]));
    const refused = await unary((callback) => client.ValidateWithJudges?.(judges, callback));
    assert.equal(refused.code, 'INVALID_ARGUMENT');
    assert.equal(refused.details, 'the request has more than 100000 fields');
    const few = await unary((callback) => client.ValidateWithJudges?.(judges.subarray(0, 2 * 99_999), callback));
    assert.doesNotMatch(few.details, /fields/);
    client.close();
  });

  test('an empty message is a message: its fields are missing, by name', async () => {
    await using it = await grpcServer();
    const run = await ended(it.client.executeAgent(request('')));
    assert.equal(run.code, 'INVALID_ARGUMENT');
    const details = run.status.metadata?.get('grpc-status-details-bin')[0];
    assert.ok(Buffer.isBuffer(details));
    assert.match(details.toString('latin1'), /google\.rpc\.BadRequest.*agent_id/s);
  });

  test('an unknown method is UNIMPLEMENTED', async () => {
    await using it = await grpcServer();
    const method = '/svc.runtime.v1.SvcRuntime/Nothing';
    const bytes = (value: Buffer): Buffer => value;
    const answer = await unary((callback) =>
      it.client.makeUnaryRequest(method, bytes, bytes, Buffer.alloc(0), callback),
    );
    assert.equal(answer.code, 'UNIMPLEMENTED');
  });

  test('one connection has no more calls at a time than its limit', async () => {
    await using it = await grpcServer({ callsPerConnection: 3 });
    const session = connect(`http://${it.address}`);
    const settings = await new Promise<{ maxConcurrentStreams?: number | undefined }>((resolve) =>
      session.once('remoteSettings', resolve),
    );
    assert.equal(settings.maxConcurrentStreams, 3);
    session.destroy();
  });

  test('a silent connection gets keepalive pings', async () => {
    await using it = await grpcServer({ keepaliveMs: 100, keepaliveTimeoutMs: 100 });
    const session = connect(`http://${it.address}`);
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    const pings: unknown[] = [];
    session.on('ping', (payload) => pings.push(payload));
    await waitUntil('the server asked whether the client lives', () => pings.length > 0);
    session.destroy();
  });

  test('an address that is taken is an error that names it', async () => {
    await using it = await grpcServer();
    const second = createGrpcServer({
      agents: new FakeCatalog(),
      executions: new FakeExecutions(),
      authenticator: createAuthenticator({ realms: [] }),
      auth: { enabled: true, exempt_methods: [] },
      logger: { debug: () => {}, warn: () => {}, error: () => {} },
      version: '0.0.1-test',
      health: { ready: async () => ({ ready: true }) },
    });
    const port = Number(it.address.split(':')[1]);
    await assert.rejects(second.listen('127.0.0.1', port), /gRPC cannot listen on 127\.0\.0\.1:\d+/);
    await second.close();
  });

  test('closing twice is closing once, and later calls cannot connect', async () => {
    await using it = await grpcServer();
    await Promise.all([it.server.close(), it.server.close()]);
    const ready = promisify(it.client.waitForReady.bind(it.client));
    await assert.rejects(ready(Date.now() + 200));
  });
});
