import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createToolCommands } from '../../../effects/commands/tool-commands.ts';
import { DENIED_NAMES, scrubbed } from '../../../effects/commands/tool-program.ts';
import { runCgroups } from '../../../effects/programs/run-cgroup.ts';
import type { ProgramView } from '../../../effects/programs/view.ts';
import { openWorkspaceView, type WorkspaceView } from '../../../effects/programs/workspace-view.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { ToolCommandRequest, ToolCommandResult } from '../../../usecases/ports/commands.ts';
import { GIT_NAMES, sandboxFor, skipWithout } from '../../support/sandbox.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { MiB, type VolumesUnderTest, volumesUnderTest } from '../volumes/volumes-under-test.ts';
import { COMMAND_ESCAPES, type CommandEscape } from './tool-escapes.ts';

const MAX_OUTPUT = 64 * 1_024;
/** Seconds to sleep, by which the process is found in the process table. */
const MARK = String(1_000_000 + process.pid);
let setup: VolumesUnderTest;
let view: ProgramView | null;
let plain: WorkspaceView | null;
let missing = '';
let workspaces: string;

before(async () => {
  setup = await volumesUnderTest();
  workspaces = join(setup.directory, 'workspaces');
  await mkdir(workspaces);
  ({ view: plain } = await openWorkspaceView(workspaces));
  ({ sandbox: view, reason: missing } = await sandboxFor(workspaces));
  view ??= plain;
  process.env.SVC_TEST_SECRET = 'of-the-node';
  process.env.AWS_SECRET_ACCESS_KEY = 'of-the-node';
});
after(async () => {
  delete process.env.SVC_TEST_SECRET;
  delete process.env.AWS_SECRET_ACCESS_KEY;
  await setup[Symbol.asyncDispose]();
});

const commandsOver = (over: ProgramView | null) =>
  createToolCommands({
    ...{ volumes: setup.volumes, workspaces, view: over, killGraceMs: 200, engine: null },
    limits: { processes: 64, memory_bytes: 200 * MiB },
    allow: (tenant) => tenant === 'acme',
  });

const requestOf = (more: Partial<ToolCommandRequest>): ToolCommandRequest => ({
  ...{ tenant: 'acme', execution_id: randomUUID(), command: 'true', args: [], mounts: [] },
  ...{ timeout_ms: 20_000, max_output_bytes: MAX_OUTPUT, env_denylist: [], ...more },
});

const run = (
  more: Partial<ToolCommandRequest>,
  options: { readonly over?: ProgramView | null; readonly signal?: AbortSignal } = {},
): Promise<ToolCommandResult> => {
  const { over = view, signal = new AbortController().signal } = options;
  return commandsOver(over).run(requestOf(more), signal);
};

const sh = (script: string) => ({ command: 'sh', args: ['-c', script] });
const directoryOf = async (id: string): Promise<string> => (await setup.volumes.open('acme', id)).directory;

/** Command lines of processes that run now. */
async function running(pattern: RegExp): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.map((line) => line.replaceAll('\0', ' ').trim()).filter((line) => pattern.test(line));
}

describe('a command of a tool', () => {
  test('a command of a tool gets its arguments as they are and answers streams, exit code and time', async () => {
    const { duration_ms, ...result } = await run({ command: 'printf', args: ['%s|', 'a b', '$HOME', "'", '*'] });
    assert.deepEqual(result, { exit_code: 0, stdout: "a b|$HOME|'|*|", stderr: '' });
    assert.ok(duration_ms >= 0);
    assert.deepEqual((await run(sh('echo err >&2; exit 3'))).exit_code, 3);
    assert.equal((await run(sh('kill -9 $$'))).exit_code, 137);
  });

  test('a command of a tool works in /workspace, which the next command of the execution finds', async () => {
    const execution_id = randomUUID();
    await run({ execution_id, ...sh('echo kept > file; mkdir sub; ln -s file sub/link') });
    const { stdout } = await run({ execution_id, ...sh('pwd; cat file') });
    const directory = await directoryOf(execution_id);
    assert.equal(stdout, `${view === null ? directory : '/workspace'}\nkept\n`);
    assert.equal(await readFile(join(directory, 'file'), 'utf8'), 'kept\n');
  });

  test('a command of a tool has a clean environment: seven names, none of the node', async () => {
    const { stdout } = await run({ command: 'env', execution_id: '11111111-1111-4111-8111-111111111111' });
    const names = stdout
      .split('\n')
      .map((line) => line.split('=')[0] ?? '')
      .filter((name) => !['', 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(name));
    const expected = ['HOME', 'LANG', 'PATH', 'SVC_EXECUTION_ID', 'SVC_PROGRAM_RUN', 'SVC_WORKSPACE', 'TMPDIR'];
    assert.deepEqual(names.sort(), [...expected, ...GIT_NAMES].sort());
    if (view !== null) assert.match(stdout, /^HOME=\/workspace$/m);
    const without = await run({ command: 'env', env_denylist: ['LANG', 'SVC_EXEC*'] });
    assert.doesNotMatch(without.stdout, /^(LANG|SVC_EXECUTION_ID)=/m);
  });

  test('denied names are removed by name, prefix and suffix, in any case', () => {
    const given = { PATH: 'p', AWS_REGION: 'x', my_token: 'x', Github_Sha: 'x', FOO_1: 'x', FOO: 'x', BAR: 'b' };
    assert.deepEqual(scrubbed(given, ['foo*']), { PATH: 'p', BAR: 'b' });
    assert.deepEqual(scrubbed({ A: '1', SVC_PROGRAM_RUN: 'm' }, ['*']), { SVC_PROGRAM_RUN: 'm' });
    assert.ok(DENIED_NAMES.length > 40);
  });

  test('a command of a tool may be a program of the workspace or of a mounted volume, with its own interpreter', async () => {
    const execution_id = randomUUID();
    const tools = await setup.volume();
    await run({ execution_id });
    for (const [id, name] of [
      [execution_id, 'hello'],
      [tools, 'greet'],
    ] as const) {
      const file = join(await directoryOf(id), name);
      await writeFile(file, '#!/bin/sh\necho "$0 $1"\n');
      await chmod(file, 0o755);
    }
    await writeFile(join(await directoryOf(execution_id), 'plain'), 'x', { mode: 0o600 });
    const mounts = [{ volume_id: tools, mount_path: '/workspace/tools', read_only: false, create: false }];
    assert.match((await run({ execution_id, command: './hello', args: ['a b'] })).stdout, /hello a b\n$/);
    assert.match(
      (await run({ execution_id, mounts, command: '/workspace/tools/greet', args: ['x'] })).stdout,
      /greet x\n$/,
    );
    await assert.rejects(run({ execution_id, command: './plain' }), { code: 'program_failed' });
    await assert.rejects(run({ execution_id, command: './tools/greet/more' }), { code: 'not_found' });
  });

  test('a link out of the workspace gives a command no more than the name of its target would', async () => {
    const execution_id = randomUUID();
    await run({ execution_id });
    await symlink('/etc/passwd', join(await directoryOf(execution_id), 'passwd'));
    await assert.rejects(run({ execution_id, command: './passwd' }), { code: 'program_failed' });
  });

  test('a mount at /workspace replaces the workspace of the execution; read-only is enforced or refused', async () => {
    const shared = await setup.volume();
    const mounts = [{ volume_id: shared, mount_path: '/workspace', read_only: false, create: false }];
    await run({ mounts, ...sh('echo one > file') });
    assert.equal(await readFile(join(await directoryOf(shared), 'file'), 'utf8'), 'one\n');
    const readOnly = mounts.map((mount) => ({ ...mount, read_only: true }));
    await assert.rejects(run({ mounts: readOnly }, { over: null }), { code: 'unsupported_isolation' });
    if (view === null) return;
    const result = await run({ mounts: readOnly, ...sh('cat file; echo two > file') });
    assert.equal(result.stdout, 'one\n');
    assert.match(result.stderr, /Read-only file system/);
  });

  test('a command of a tool is refused for tenants without host commands, and in a container where there is no engine', async () => {
    await assert.rejects(run({ tenant: 'other' }), { code: 'forbidden' });
    await assert.rejects(run({ container_id: 'c1' }), { code: 'unsupported_isolation' });
    for (const [field, more] of [
      ['timeout_ms', { timeout_ms: 0 }],
      ['max_output_bytes', { max_output_bytes: 1e9 }],
      ['mounts', { mounts: [{ volume_id: 'v', mount_path: '/etc', read_only: false, create: false }] }],
    ] as const) {
      await assert.rejects(run(more), { code: 'invalid_argument', field });
    }
  });

  test('a command of a tool that fills its volume is ended with quota_exceeded', async () => {
    const volume = await setup.volume(2 * MiB);
    const mounts = [{ volume_id: volume, mount_path: '/workspace', read_only: false, create: false }];
    const write = sh(
      'i=0; while [ $i -lt 40 ]; do dd if=/dev/zero of=f$i bs=1M count=1 2>/dev/null; i=$((i+1)); done; sleep 600',
    );
    await assert.rejects(run({ mounts, ...write }), { code: 'quota_exceeded' });
  });

  test('one command of an execution runs at a time; others queue, not longer than their timeout', async () => {
    const commands = commandsOver(view);
    const signal = new AbortController().signal;
    const execution_id = randomUUID();
    const mark = { execution_id, ...sh('[ -e busy ] && echo two; : > busy; sleep 0.2; rm busy') };
    const all = await Promise.all([1, 2, 3].map(() => commands.run(requestOf(mark), signal)));
    assert.deepEqual(
      all.map(({ stdout }) => stdout),
      ['', '', ''],
    );
    const slow = commands.run(requestOf({ execution_id, command: 'sleep', args: ['60'], timeout_ms: 2_000 }), signal);
    const late = commands.run(requestOf({ execution_id, timeout_ms: 100 }), signal);
    await assert.rejects(late, { code: 'failed_precondition', message: /ConcurrentExecLimitExceeded/ });
    const beside = await commands.run(requestOf({ execution_id, max_concurrent: 2 }), signal);
    assert.equal(beside.exit_code, 0);
    assert.equal((await commands.run(requestOf({}), signal)).exit_code, 0);
    assert.equal((await slow).stopped_by, 'timeout');
  });

  test('a cancel ends a command with all it started, also one that is queued', async () => {
    const commands = commandsOver(view);
    const execution_id = randomUUID();
    const stop = new AbortController();
    const first = commands.run(
      requestOf({ execution_id, ...sh(`setsid sleep ${MARK} & : > begun; wait`) }),
      stop.signal,
    );
    const second = commands.run(requestOf({ execution_id }), stop.signal);
    const ended = Promise.all([
      assert.rejects(first, { code: 'cancelled' }),
      assert.rejects(second, { code: 'cancelled' }),
    ]);
    await waitUntil('the command to have begun', async () => {
      const directory = await directoryOf(execution_id).catch(() => null);
      return directory !== null && (await readdir(directory)).includes('begun') ? true : null;
    });
    stop.abort(new SvcError('cancelled'));
    await ended;
    assert.deepEqual(await running(new RegExp(`^sleep ${MARK}`)), []);
  });
});

function check(attempt: CommandEscape, result: ToolCommandResult): void {
  const kept = Buffer.byteLength(result.stdout) + Buffer.byteLength(result.stderr);
  assert.ok(kept <= MAX_OUTPUT, `${kept} bytes`);
  if (attempt.ends === 'runs') {
    assert.equal(result.stopped_by, undefined, result.stderr);
    assert.match(result.stdout, attempt.stdout ?? /^/);
  } else if (attempt.or === undefined || result.stopped_by !== attempt.or)
    assert.equal(result.stopped_by, attempt.ends, JSON.stringify(result).slice(0, 300));
}

for (const kind of ['in the sandbox', 'with a view of its own', 'without one'] as const) {
  describe(`a command ${kind} does not escape by`, () => {
    // Without a namespace there is no separate process table, which some attempts are about.
    const attempts = COMMAND_ESCAPES.filter(({ ownProcesses }) => kind !== 'without one' || ownProcesses !== true);
    for (const attempt of attempts) {
      test(attempt.title, async (t) => {
        if (kind === 'in the sandbox' && missing !== '') return skipWithout(t, missing);
        const over = { 'in the sandbox': view, 'with a view of its own': plain, 'without one': null }[kind];
        if (kind !== 'without one' && over === null) return t.skip('NO MOUNT NAMESPACE HERE: views are not tested');
        if (attempt.ownProcesses === true && over?.hasOwnProcesses !== true) {
          return t.skip('no process table of its own here');
        }
        if (attempt.cgroups === true && (await runCgroups()) === null) return t.skip('NO CONTROL GROUPS HERE');
        const { command, timeout_ms = 20_000 } = attempt;
        const args = attempt.args.map((argument) => argument.replaceAll('MARK', MARK));
        const outcome = run({ command, args, timeout_ms }, { over });
        if (attempt.ends === 'invalid_argument' || attempt.ends === 'not_found') {
          await assert.rejects(outcome, { code: attempt.ends });
        } else check(attempt, await outcome);
        assert.deepEqual(await running(new RegExp(`^sleep ${MARK}`)), []);
      });
    }
  });
}
