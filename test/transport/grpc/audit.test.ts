import assert from 'node:assert/strict';
import { type ClientHttp2Stream, connect } from 'node:http2';
import { describe, it } from 'node:test';
import { type ClientUnaryCall, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { ExecuteSystemCommandRequest, SvcRuntimeService } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import type { CommandRunner } from '../../../usecases/ports/commands.ts';
import { auditOf, auditStore, entriesOf } from '../../security/audit/audit-store.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { FakeCatalog } from '../rest/fake-catalog.ts';
import { FakeExecutions } from '../rest/fake-executions.ts';
import { namedUsers } from '../rest/rest-server.ts';
import { clientOf, framed, metadataOf, unary } from './call.ts';

const PATH = SvcRuntimeService.executeSystemCommand.path;

const ENDED = { stdout_truncated: false, stderr_truncated: false, timed_out: false };

/** A server whose audit is read afterwards. The command `waits` runs until `goOn`, and `fails` fails. */
async function auditedServer({ failing = false, requestTimeoutMs = 60_000 } = {}) {
  const store = await auditStore();
  const { blocks } = store;
  const down = { insert: () => Promise.reject(new SvcError('unavailable', 'down')) };
  const bound = { get: blocks.get.bind(blocks), find: blocks.find.bind(blocks), insert: blocks.insert.bind(blocks) };
  const { audit } = auditOf({ ...blocks, ...bound, ...(failing ? down : {}) }, { failClosed: failing });
  const ran: string[] = [];
  const begun: string[] = [];
  const waits = Promise.withResolvers<void>();
  const commands: CommandRunner = {
    async run(request) {
      ran.push(request.command);
      if (request.command === 'waits') await waits.promise;
      if (request.command === 'fails') throw new SvcError('failed_precondition', 'not here');
      return { ...ENDED, exit_code: 0, stdout: 'canary', stderr: '', duration_ms: 1 };
    },
  };
  const server = createGrpcServer({
    agents: new FakeCatalog(),
    executions: new FakeExecutions(),
    commands,
    operationAudit: {
      begin(call) {
        begun.push(call.operation);
        return audit.begin(call);
      },
      denied: (call, error) => audit.denied(call, error),
    },
    authenticator: namedUsers,
    auth: { enabled: true, exempt_methods: [] },
    logger: pino({ level: 'silent' }),
    version: '0.0.1-test',
    health: { ready: async () => ({ ready: true }) },
    limits: { closeGraceMs: 500, requestTimeoutMs },
  });
  const address = await server.listen('127.0.0.1', 0);
  return {
    address,
    ran,
    begun,
    goOn: waits.resolve,
    /** Entries of all tenants; available when the server is closed. */
    async entries() {
      await server.close();
      if (!failing) await audit.close('the test ends', 5_000);
      const tenants = ['alice', 'svc-system', 'u-u'];
      return (await Promise.all(tenants.map((tenant) => entriesOf(blocks, tenant)))).flat();
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

const encoded = (command: string): Buffer => {
  const fields = { command, env: {}, workdir: undefined, timeout_seconds: undefined };
  return Buffer.from(ExecuteSystemCommandRequest.encode(fields).finish());
};

const authorized = (user: string | null) => metadataOf(user === null ? {} : { authorization: `Bearer ${user}` });

/** Runs `command` over gRPC as these users, one after the other, and returns the statuses and the entries. */
async function called(command: string, users: readonly (string | null)[], failing = false) {
  await using server = await auditedServer({ failing });
  const client = clientOf(server.address);
  const codes: string[] = [];
  for (const user of users) {
    const message = encoded(command);
    const { code } = await unary((done) =>
      client.makeUnaryRequest(PATH, Buffer.from, Buffer.from, message, authorized(user), done),
    );
    codes.push(code);
  }
  client.close();
  return { codes, ran: server.ran, entries: await server.entries() };
}

const seen = (entries: Awaited<ReturnType<typeof called>>['entries']) =>
  entries.map(({ operation, subject, outcome, error, via }) => [operation, subject, outcome, error, via]);

describe('the audit of gRPC', () => {
  it('a method that changes something leaves one entry with its end', async () => {
    const { codes, entries } = await called('ls', ['alice']);
    assert.deepEqual(codes, ['OK']);
    assert.deepEqual(seen(entries), [['commands.execute', 'a', 'ok', null, 'grpc']]);
    assert.equal(JSON.stringify(entries).includes('ls'), false);
    const failed = await called('fails', ['alice']);
    assert.deepEqual(failed.codes, ['FAILED_PRECONDITION']);
    assert.deepEqual(seen(failed.entries), [['commands.execute', 'a', 'failed', 'failed_precondition', 'grpc']]);
  });

  it('denials leave an entry, of callers without a token in the tenant of the node', async () => {
    const { codes, ran, entries } = await called('ls', ['consumer', null]);
    assert.deepEqual([codes, ran], [['PERMISSION_DENIED', 'UNAUTHENTICATED'], []]);
    assert.deepEqual(seen(entries).sort(), [
      ['commands.execute', null, 'denied', 'unauthenticated', 'grpc'],
      ['commands.execute', 'u', 'denied', 'forbidden', 'grpc'],
    ]);
  });

  it('with fail_closed nothing runs while the entry cannot be written', async () => {
    const { codes, ran } = await called('ls', ['alice'], true);
    assert.deepEqual([codes, ran], [['UNAVAILABLE'], []]);
  });

  it('a call that ends before its method has the request leaves an entry: too large, half, late, gone', async () => {
    await using server = await auditedServer({ requestTimeoutMs: 2_000 });
    const session = connect(`http://${server.address}`);
    const open = (more = {}): ClientHttp2Stream => {
      const head = { ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' };
      const stream = session.request({ ...head, authorization: 'Bearer alice', ...more }, { endStream: false });
      stream.on('error', () => {});
      stream.resume();
      return stream;
    };
    const statusOf = (stream: ClientHttp2Stream): Promise<unknown> =>
      new Promise((resolve) => stream.once('response', (headers) => resolve(headers['grpc-status'])));
    const large = open();
    large.write(framed(Buffer.alloc(8), 17 * 1024 * 1024));
    const half = open();
    half.write(framed(encoded('ls')));
    const late = open({ 'grpc-timeout': '150m' });
    late.write(framed(encoded('ls')));
    const ends = [large, half, late].map(statusOf);
    assert.deepEqual(
      await Promise.all(ends),
      [status.INVALID_ARGUMENT, status.DEADLINE_EXCEEDED, status.DEADLINE_EXCEEDED].map(String),
    );
    open();
    await waitUntil('the call to be admitted', () => server.begun.length === 4);
    session.destroy();
    const entries = await server.entries();
    assert.deepEqual(server.ran, []);
    assert.deepEqual(
      seen(entries).sort(),
      ['cancelled', 'deadline_exceeded', 'payload_too_large', 'request_timed_out'].map((error) => [
        ...['commands.execute', 'a', 'failed', error, 'grpc'],
      ]),
    );
  });

  it('a method whose client is gone at its answer leaves the entry of how it ended', async () => {
    await using server = await auditedServer();
    const client = clientOf(server.address);
    const { promise: called, resolve: isCalled } = Promise.withResolvers<ClientUnaryCall>();
    const ended = unary((done) =>
      isCalled(client.makeUnaryRequest(PATH, Buffer.from, Buffer.from, encoded('waits'), authorized('alice'), done)),
    );
    await waitUntil('the method to run', () => server.ran.length === 1);
    (await called).cancel();
    assert.equal((await ended).code, 'CANCELLED');
    server.goOn();
    client.close();
    assert.deepEqual(seen(await server.entries()), [['commands.execute', 'a', 'ok', null, 'grpc']]);
  });
});
