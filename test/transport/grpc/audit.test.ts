import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { ExecuteSystemCommandRequest, SvcRuntimeService } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import type { CommandRunner } from '../../../usecases/ports/commands.ts';
import { auditOf, auditStore, entriesOf } from '../../security/audit/scene.ts';
import { FakeCatalog } from '../rest/fake-catalog.ts';
import { FakeExecutions } from '../rest/fake-executions.ts';
import { namedUsers } from '../rest/scene.ts';
import { clientOf, metadataOf, unary } from './call.ts';

const PATH = SvcRuntimeService.executeSystemCommand.path;

const ENDED = { stdout_truncated: false, stderr_truncated: false, timed_out: false };

/** Runs `command` over gRPC as these users, one after the other, and returns the statuses and the entries. */
async function called(command: string, users: readonly (string | null)[], failing: 'insert' | null = null) {
  await using store = await auditStore();
  const { blocks } = store;
  const down = { insert: () => Promise.reject(new SvcError('unavailable', 'down')) };
  const bound = { get: blocks.get.bind(blocks), find: blocks.find.bind(blocks), insert: blocks.insert.bind(blocks) };
  const { audit } = auditOf(
    { ...blocks, ...bound, ...(failing === null ? {} : down) },
    { failClosed: failing !== null },
  );
  const ran: string[] = [];
  const commands: CommandRunner = {
    async run(request) {
      ran.push(request.command);
      if (request.command === 'fails') throw new SvcError('failed_precondition', 'not here');
      return { ...ENDED, exit_code: 0, stdout: 'canary', stderr: '', duration_ms: 1 };
    },
  };
  const server = createGrpcServer({
    agents: new FakeCatalog(),
    executions: new FakeExecutions(),
    commands,
    operationAudit: audit,
    authenticator: namedUsers,
    auth: { enabled: true, exempt_methods: [] },
    logger: pino({ level: 'silent' }),
    version: '0.0.1-test',
    health: { ready: async () => ({ ready: true }) },
    limits: { closeGraceMs: 500 },
  });
  const client = clientOf(await server.listen('127.0.0.1', 0));
  const codes: string[] = [];
  for (const user of users) {
    const message = ExecuteSystemCommandRequest.encode({
      command,
      env: {},
      workdir: undefined,
      timeout_seconds: undefined,
    });
    const metadata = metadataOf(user === null ? {} : { authorization: `Bearer ${user}` });
    const { code } = await unary((done) =>
      client.makeUnaryRequest(PATH, Buffer.from, Buffer.from, Buffer.from(message.finish()), metadata, done),
    );
    codes.push(code);
  }
  client.close();
  await server.close();
  if (failing === null) await audit.close('the test ends', 5_000);
  const tenants = ['alice', 'svc-system', 'u-u'];
  const entries = (await Promise.all(tenants.map((tenant) => entriesOf(blocks, tenant)))).flat();
  return { codes, ran, entries };
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
    const { codes, ran } = await called('ls', ['alice'], 'insert');
    assert.deepEqual([codes, ran], [['UNAVAILABLE'], []]);
  });
});
