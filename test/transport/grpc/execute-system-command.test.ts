import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import { createCommandRunner } from '../../../effects/commands/command-runner.ts';
import type { ExecuteSystemCommandRequest, SvcRuntimeClient } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import type { GrpcServer } from '../../../transport/grpc/endpoint.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import { type VolumesUnderTest, volumesUnderTest } from '../../effects/volumes/volumes-under-test.ts';
import { alive } from '../../support/program-under-test.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { FakeCatalog } from '../rest/fake-catalog.ts';
import { FakeExecutions } from '../rest/fake-executions.ts';
import { namedUsers } from '../rest/rest-server.ts';
import { clientOf, metadataOf, unary } from './call.ts';

let volumes: VolumesUnderTest;
let directory: string;
let server: GrpcServer;
let client: SvcRuntimeClient;

before(async () => {
  volumes = await volumesUnderTest();
  directory = await mkdtemp(join(tmpdir(), 'svc-command-'));
  server = createGrpcServer({
    ...{ agents: new FakeCatalog(), executions: new FakeExecutions(), authenticator: namedUsers },
    ...{ auth: { enabled: true, exempt_methods: [] }, logger: pino({ level: 'silent' }), version: '0' },
    health: { ready: async () => ({ ready: true }) },
    limits: { closeGraceMs: 500 },
    commands: createCommandRunner({
      ...{ volumes: volumes.volumes, workspaces: join(directory, 'workspaces'), view: null, killGraceMs: 300 },
      allow: (tenant) => tenant === 'alice',
    }),
  });
  client = clientOf(await server.listen('127.0.0.1', 0));
});
after(async () => {
  client.close();
  await server.close();
  await volumes[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const as = (user: string) => metadataOf({ authorization: `Bearer ${user}` });

const execute = (request: Partial<ExecuteSystemCommandRequest> & { readonly command: string }, user = 'alice') =>
  unary((callback) => client.executeSystemCommand({ env: {}, ...request }, as(user), callback));

describe('ExecuteSystemCommand', () => {
  test('answers the output of the command, whatever its exit code', async () => {
    const request = { command: 'echo "$A"; echo err >&2; exit 3', env: { A: 'hi' } };
    const { code, answer } = await execute(request);
    assert.equal(code, 'OK');
    assert.ok(typeof answer === 'object' && answer !== null && 'duration_ms' in answer);
    const { duration_ms, ...said } = answer;
    assert.deepEqual(said, { exit_code: 3, stdout: 'hi\n', stderr: 'err\n' });
    assert.ok(Number(duration_ms) >= 0);
  });

  test('starts in its workdir, which is in an empty workspace', async () => {
    const { answer } = await execute({ command: 'pwd; ls', workdir: '/workspace/a/b' });
    assert.match(JSON.stringify(answer), /\/a\/b\\n"/);
    assert.equal((await execute({ command: 'true', workdir: '' })).code, 'OK');
    assert.deepEqual(await readdir(join(directory, 'workspaces', '.commands')), []);
  });

  test('runs in any absolute directory that exists; one that does not is FAILED_PRECONDITION', async () => {
    const { answer } = await execute({ command: 'pwd; exit 7', workdir: '/usr/bin' });
    assert.ok(typeof answer === 'object' && answer !== null && 'stdout' in answer && 'exit_code' in answer);
    assert.deepEqual([answer.stdout, answer.exit_code], ['/usr/bin\n', 7]);
    const { code, details } = await execute({ command: 'true', workdir: '/no/such/directory' });
    assert.equal(code, 'FAILED_PRECONDITION');
    assert.match(details, /^workdir: \/no\/such\/directory is not a directory/);
  });

  test('output over its limit says so in its last line and in a trailer, for each stream', async () => {
    const cases = [
      ['seq 1 300000', 'stdout'],
      ['seq 1 300000 >&2', 'stderr'],
      ['seq 1 300000; seq 1 300000 >&2', 'stdout,stderr'],
      ['seq 1 1000', undefined],
    ] as const;
    for (const [command, cut] of cases) {
      const trailers = Promise.withResolvers<string | undefined>();
      const { answer } = await unary((callback) => {
        const call = client.executeSystemCommand({ env: {}, command }, as('alice'), callback);
        call.on('status', ({ metadata }) => trailers.resolve(metadata.get('svc-output-cut')[0]?.toString()));
        return call;
      });
      assert.equal(await trailers.promise, cut, command);
      assert.ok(typeof answer === 'object' && answer !== null && 'stdout' in answer && 'stderr' in answer);
      for (const stream of ['stdout', 'stderr'] as const) {
        const isCut = cut?.includes(stream) === true;
        assert.equal(
          /\nsvc: the output is cut here; the rest is missing\n$/.test(String(answer[stream])),
          isCut,
          command,
        );
      }
    }
  });

  test('hostile input is INVALID_ARGUMENT and names the field', async () => {
    for (const [field, request] of [
      ['command', { command: '' }],
      ['command', { command: 'a\0b' }],
      ['command', { command: 'x'.repeat(1_000_000) }],
      ['env', { command: 'true', env: { 'A-B': 'x' } }],
      ['env', { command: 'true', env: { LD_PRELOAD: '/tmp/x.so' } }],
      ['env', { command: 'true', env: { A: '\0' } }],
      ['env', { command: 'true', env: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`V${i}`, 'x'])) }],
      ['workdir', { command: 'true', workdir: '/etc/..' }],
      ['workdir', { command: 'true', workdir: '../..' }],
      ['workdir', { command: 'true', workdir: 'a\0' }],
      ['workdir', { command: 'true', workdir: `/${'x'.repeat(2_000)}` }],
      ['timeout_seconds', { command: 'true', timeout_seconds: 0 }],
      ['timeout_seconds', { command: 'true', timeout_seconds: 86_401 }],
    ] as const) {
      const { code, details } = await execute(request);
      assert.equal(code, 'INVALID_ARGUMENT', details);
      assert.ok(details.startsWith(`${field}: expected `), details);
      assert.doesNotMatch(details, / must |Too (small|big)|Invalid input|expected (an environment name is|this)/);
    }
  });

  test('is for tenants with host commands, and for callers that may change things', async () => {
    for (const user of ['bob', 'reader', 'consumer', 'admin']) {
      assert.equal((await execute({ command: 'true' }, user)).code, 'PERMISSION_DENIED', user);
    }
    assert.equal((await execute({ command: 'true' }, 'nobody')).code, 'UNAUTHENTICATED');
  });

  test('a command that takes too long is ended: DEADLINE_EXCEEDED', async () => {
    const file = join(directory, 'slow');
    const command = `sleep 600 & echo $! > ${file}; wait`;
    assert.equal((await execute({ command, timeout_seconds: 4 })).code, 'DEADLINE_EXCEEDED');
    assert.equal(await alive(Number(await readFile(file, 'utf8'))), false);
  });

  test('a call that is cancelled, or whose own deadline passes, ends the command with all it started', async () => {
    /** The process of a command whose call has ended; 0 when it had not begun. */
    const ended = async (deadlineMs: number | null): Promise<number> => {
      const file = join(directory, `pid-${deadlineMs}`);
      await writeFile(file, '');
      const command = `setsid sleep 600 & echo $! > ${file}; sleep 600`;
      const options = deadlineMs === null ? {} : { deadline: Date.now() + deadlineMs };
      await new Promise((resolve) => {
        const call = client.executeSystemCommand({ command, env: {} }, as('alice'), options, resolve);
        const cancel = () => waitUntil('the command runs', async () => (await readFile(file, 'utf8')) !== '');
        if (deadlineMs === null) cancel().then(() => call.cancel(), resolve);
      });
      return Number(await readFile(file, 'utf8'));
    };
    const cancelled = await ended(null);
    let late = 0;
    // A slow machine needs more time to begin the command.
    for (let deadlineMs = 1_000; late === 0 && deadlineMs < 30_000; deadlineMs *= 3) late = await ended(deadlineMs);
    for (const pid of [cancelled, late]) {
      assert.ok(pid > 0);
      await waitUntil('its processes are gone', async () => !(await alive(pid)));
    }
  });

  test('twenty at once each get their own answer and workspace', async () => {
    const calls = Array.from({ length: 20 }, (_, i) => execute({ command: `echo ${i} > f; sleep 0.1; cat f` }));
    const answers = (await Promise.all(calls)).map(({ answer }) => answer);
    for (const [index, answer] of answers.entries()) {
      assert.ok(typeof answer === 'object' && answer !== null && 'stdout' in answer);
      assert.equal(answer.stdout, `${index}\n`);
    }
  });
});
