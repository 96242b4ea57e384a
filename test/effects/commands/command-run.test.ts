import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createCommandEffect, createCommandRunner } from '../../../effects/commands/command-runner.ts';
import { CommandInput } from '../../../effects/commands/input.ts';
import { endLeftovers } from '../../../effects/programs/leftovers.ts';
import { openWorkspaceView, type WorkspaceView } from '../../../effects/programs/workspace-view.ts';
import { addressOf } from '../../../runtime/address.ts';
import type { CommandRequest, CommandResult } from '../../../usecases/ports/commands.ts';
import { effectContext } from '../../support/effect-context.ts';
import { alive, recorded } from '../../support/program-under-test.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { MiB, RUN, type VolumesUnderTest, volumesUnderTest } from '../volumes/volumes-under-test.ts';

let setup: VolumesUnderTest;
let workspaces: string;

before(async () => {
  setup = await volumesUnderTest();
  workspaces = join(setup.directory, 'workspaces');
});
after(async () => setup[Symbol.asyncDispose]());

const runner = (view: WorkspaceView | null = null) =>
  createCommandRunner({
    ...{ volumes: setup.volumes, files: setup.volumes.files, workspaces, view, killGraceMs: 300 },
    allow: (tenant) => tenant === 'acme',
  });

/** A command in a fresh volume, unless another is given. */
async function run(
  command: string,
  more: Partial<CommandRequest> & { readonly signal?: AbortSignal; readonly view?: WorkspaceView | null } = {},
): Promise<CommandResult> {
  const { signal = new AbortController().signal, view = null, ...rest } = more;
  const workspace = { volume_id: randomUUID(), implicit: true };
  const request = { tenant: 'acme', command, env: {}, workdir: '/workspace', timeout_ms: 20_000, workspace };
  return runner(view).run({ ...request, ...rest }, signal);
}

const directoryOf = async (id: string): Promise<string> => (await setup.volumes.open('acme', id)).directory;

describe('a shell command', () => {
  test('a shell command answers exit code, both streams and duration', async () => {
    const { duration_ms, workspace, ...result } = await run('echo out; echo err >&2; exit 3');
    assert.deepEqual(result, {
      ...{ exit_code: 3, stdout: 'out\n', stderr: 'err\n', timed_out: false },
      ...{ stdout_truncated: false, stderr_truncated: false },
    });
    assert.ok(duration_ms >= 0);
    assert.ok(workspace !== undefined, 'the look-ups of its volume');
  });

  test('a shell command sees its own input and nothing of the node; references stay text', async () => {
    process.env.SVC_TEST_SECRET = 'of the node';
    const env = { A: 'a b', KEY: 'secret:KEY', NODE: 'env:SVC_TEST_SECRET', SVC_WORKSPACE: 'mine' };
    const volume = await setup.volume();
    const workspace = { volume_id: volume, implicit: false };
    const { stdout } = await run('env', { env, workspace, execution_id: RUN, state_name: 'BUILD' });
    delete process.env.SVC_TEST_SECRET;
    const lines = stdout.split('\n');
    for (const line of ['A=a b', 'KEY=secret:KEY', 'NODE=env:SVC_TEST_SECRET', 'SVC_STATE=BUILD']) {
      assert.ok(lines.includes(line), line);
    }
    assert.ok(lines.includes(`SVC_WORKSPACE=${await directoryOf(volume)}`));
    assert.ok(lines.includes(`SVC_EXECUTION_ID=${RUN}`));
    assert.ok(!stdout.includes('of the node'));
  });

  test('a shell command works in the workspace of its execution, which the next one finds', async () => {
    const workspace = { volume_id: randomUUID(), implicit: true };
    await run('echo kept > file; mkdir sub', { workspace });
    const { stdout } = await run('pwd; cat ../file', { workspace, workdir: '/workspace/sub' });
    assert.equal(stdout, `${join(await directoryOf(workspace.volume_id), 'sub')}\nkept\n`);
    assert.equal((await run('pwd', { workspace, workdir: 'made/deep' })).stdout.endsWith('/made/deep\n'), true);
    await assert.rejects(run('true', { workspace: { volume_id: randomUUID(), implicit: false } }), {
      code: 'not_found',
    });
  });

  test('a shell command never starts outside of its workspace', async () => {
    const workspace = { volume_id: await setup.volume(), implicit: false };
    await run('ln -s / root; ln -s ../../.. up; : > file', { workspace });
    for (const workdir of ['/', '/etc', '/workspace/..', '/workspaces', 'a/../..', 'root', '/workspace/up/x']) {
      const expected = { code: 'invalid_argument', field: 'workdir' };
      await assert.rejects(run('true', { workspace, workdir }), expected, workdir);
    }
    await assert.rejects(run('true', { workspace, workdir: 'file' }), {
      code: 'failed_precondition',
      field: 'workdir',
    });
  });

  test('a shell command without a volume has an empty workspace that is removed afterwards', async () => {
    const { stdout } = await run('ls -A; pwd', { workspace: null });
    const [temporary, directory] = stdout.trim().split('\n');
    assert.equal(temporary, '.tmp');
    await assert.rejects(stat(directory ?? ''), { code: 'ENOENT' });
  });

  test('a tenant without host commands is refused before anything is made', async () => {
    await assert.rejects(run('true', { tenant: 'other' }), { code: 'forbidden' });
  });

  test('a shell command is ended with all it started when its time is over', async () => {
    const workspace = { volume_id: await setup.volume(), implicit: false };
    const command = 'sleep 600 & echo $! > pid; trap "" TERM; sleep 600 & wait';
    const result = await run(command, { workspace, timeout_ms: 3_000 });
    assert.deepEqual([result.timed_out, result.stopped_by], [true, 'timeout']);
    const pid = Number(await readFile(join(await directoryOf(workspace.volume_id), 'pid'), 'utf8'));
    assert.equal(await alive(pid), false);
  });

  test('a shell command is ended with all it started when it is cancelled', async () => {
    const workspace = { volume_id: await setup.volume(), implicit: false };
    const directory = await directoryOf(workspace.volume_id);
    const stop = new AbortController();
    const running = run('setsid sleep 600 & echo $! > pid.new; mv pid.new pid; wait', {
      workspace,
      signal: stop.signal,
    });
    await Promise.race([
      running,
      waitUntil('the command runs', async () => (await readdir(directory)).includes('pid')),
    ]);
    const pid = Number(await readFile(join(directory, 'pid'), 'utf8'));
    stop.abort(new Error('not wanted'));
    await assert.rejects(running, /not wanted/);
    assert.equal(await alive(pid), false);
    assert.deepEqual(await recorded(workspaces), []);
  });

  test('files of a step are there before it starts, of any size, in the volume and in an empty workspace', async () => {
    const content = 'x'.repeat(400_000);
    const files = [{ path: 'in/report.txt', content }];
    const count = 'wc -c < in/report.txt; ls in';
    const workspace = { volume_id: await setup.volume(), implicit: false };
    for (const where of [workspace, null])
      assert.equal((await run(count, { workspace: where, files })).stdout, '400000\nreport.txt\n');
    await assert.rejects(run(count, { workspace, files: [{ path: '../out', content }] }), { code: 'forbidden' });
    await assert.rejects(run(count, { workspace: null, files: [{ path: '../out', content }] }), { code: 'forbidden' });
  });

  test('output beyond 1 MiB of a stream is cut, and the result says so', async () => {
    const result = await run('head -c 3000000 /dev/zero | tr "\\0" x; echo done >&2');
    assert.equal(result.stdout.length, MiB);
    assert.deepEqual([result.exit_code, result.stdout_truncated, result.stderr], [0, true, 'done\n']);
  });

  test('a command that fills its volume is ended with quota_exceeded and keeps its output; one that frees the space is not', async () => {
    const workspace = { volume_id: await setup.volume(2 * MiB), implicit: false };
    const fill = 'echo before; i=0; while :; do head -c 500000 /dev/zero > f$i; i=$((i+1)); sleep 0.05; done';
    const filled = await run(fill, { workspace });
    assert.equal(filled.failure?.code, 'quota_exceeded');
    assert.deepEqual([filled.stdout, filled.exit_code > 0], ['before\n', true]);
    assert.ok(
      setup.events.some(({ event, volume_id }) => event === 'QuotaExceeded' && volume_id === workspace.volume_id),
    );
    const quick = await run('head -c 500000 /dev/zero > quick', { workspace });
    assert.deepEqual([quick.exit_code, quick.failure?.code], [0, 'quota_exceeded']);
    assert.equal((await run('rm f* quick; sleep 0.6', { workspace })).exit_code, 0);
    const one = await run('head -c 3000000 /dev/zero > large', { workspace });
    assert.notEqual(one.exit_code, 0);
    assert.equal((await run('rm -f large; head -c 2097152 /dev/zero > all', { workspace })).exit_code, 0);
  });
});

describe('the effect command.run', () => {
  test('command.run runs the command of a System state', async () => {
    const input = CommandInput.parse({
      ...{ execution_id: RUN, state_name: 'TEST', command: 'echo $GREETING $SVC_STATE; pwd', env: { GREETING: 'hi' } },
      ...{ workspace: { volume_id: RUN, implicit: true }, timeout_ms: 5_000 },
    });
    const result = await createCommandEffect(runner()).run(
      input,
      effectContext({ address: addressOf('workflow', 'acme', RUN) }),
    );
    assert.ok(typeof result === 'object' && result !== null && 'stdout' in result);
    assert.equal(result.stdout, `hi TEST\n${await directoryOf(RUN)}\n`);
  });

  test('command.run refuses NUL, huge commands and names that would change the launcher', () => {
    const base = { execution_id: RUN, workspace: { volume_id: RUN, implicit: true }, timeout_ms: 1 };
    for (const bad of [
      { command: '' },
      { command: 'a\0b' },
      { command: 'x'.repeat(200_000) },
      { command: 'true', env: { 'A=B': 'x' } },
      { command: 'true', env: { LD_PRELOAD: 'x' } },
      { command: 'true', env: { A: 'a\0b' } },
      { command: 'true', workdir: 'a\0b' },
      { command: 'true', mounts: [{ volume_id: RUN, mount_path: '/etc' }] },
      { command: 'true', mounts: [{ volume_id: RUN, mount_path: '/workspace/../etc' }] },
    ]) {
      assert.equal(CommandInput.safeParse({ ...base, ...bad }).success, false, JSON.stringify(bad).slice(0, 80));
    }
  });
});

describe('volumes of a command', () => {
  test('without a mount namespace volumes of a command are links; a read-only one is refused by name', async () => {
    const workspace = { volume_id: await setup.volume(), implicit: false };
    const shared = await setup.volume();
    const mount = { volume_id: shared, mount_path: '/workspace/data/in', read_only: false };
    await run('echo hi > data/in/file', { workspace, mounts: [mount] });
    assert.equal(String(await setup.volumes.files.read('acme', shared, 'file')), 'hi\n');
    assert.equal((await run('cat file', { workspace, mounts: [mount], workdir: 'data/in' })).stdout, 'hi\n');
    await assert.rejects(run('true', { workspace, mounts: [{ ...mount, read_only: true }] }), {
      ...{ code: 'unsupported_isolation', message: /\/workspace\/data\/in is read-only/ },
    });
    await assert.rejects(run('true', { workspace, mounts: [{ ...mount, volume_id: randomUUID() }] }), {
      code: 'not_found',
    });
    const twice = [mount, { ...mount, volume_id: workspace.volume_id, mount_path: '/workspace/data/in/' }];
    await assert.rejects(run('true', { workspace, mounts: twice }), { code: 'invalid_argument' });
  });

  test('with a mount namespace /workspace is the workspace also inside the command, and read-only is enforced', async (t) => {
    const { view, ...why } = await openWorkspaceView(workspaces);
    if (view === null) return t.skip(`no mount namespace here: ${JSON.stringify(why)}`);
    const workspace = { volume_id: await setup.volume(), implicit: false };
    const shared = await setup.volume();
    const secret = join(setup.directory, 'outside');
    await writeFile(secret, 'seen');
    const mounts = [
      { volume_id: shared, mount_path: '/workspace/rw', read_only: false },
      { volume_id: shared, mount_path: '/workspace/ro', read_only: true },
    ];
    const command = `pwd; echo one > /workspace/rw/file; cat /workspace/ro/file; echo no > /workspace/ro/x; cat ${secret}; ls "$SVC_WORKSPACE"; exit 7`;
    const result = await run(command, { view, workspace, mounts, workdir: '/workspace/sub' });
    assert.equal(result.stdout, '/workspace/sub\none\nseenro\nrw\nsub\n');
    assert.match(result.stderr, /Read-only file system/);
    assert.equal(result.exit_code, 7);
    assert.equal((await run('pwd', { view, workspace, mounts, workdir: 'ro' })).stdout, '/workspace/ro\n');
    const mountsSeen = await readFile('/proc/self/mounts', 'utf8');
    assert.ok(!mountsSeen.includes(setup.directory));
    const slow = await run('sleep 600 & sleep 600', { view, workspace, timeout_ms: 300 });
    assert.equal(slow.timed_out, true);
  });
});

test('after a crash no workspace of a single command stays', async () => {
  const own = join(workspaces, '.commands', 'left');
  await mkdir(own, { recursive: true });
  await symlink(setup.directory, join(own, 'link'));
  await endLeftovers(workspaces);
  await assert.rejects(stat(join(workspaces, '.commands')), { code: 'ENOENT' });
  assert.ok((await stat(setup.root)).isDirectory());
});
