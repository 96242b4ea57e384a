import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { endInContainer, startExec } from '../../../effects/commands/container-command.ts';
import { createToolCommands } from '../../../effects/commands/tool-commands.ts';
import { ContainerEngine } from '../../../effects/containers/engine.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { ToolCommandRequest, ToolCommandResult } from '../../../usecases/ports/commands.ts';
import { BUSYBOX, NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { someOf } from '../../support/size.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type VolumesUnderTest, volumesUnderTest } from '../volumes/volumes-under-test.ts';

const MAX_OUTPUT = 64 * 1_024;

describe('a command of a tool in the agent’s container', NEEDS_PODMAN, () => {
  let podman: TestPodman;
  let setup: VolumesUnderTest;
  let container: string;

  before(async () => {
    podman = await TestPodman.start();
    setup = await volumesUnderTest();
    const made = await podman.docker.createContainer({
      ...{ Image: BUSYBOX, Cmd: ['sleep', '3600'], WorkingDir: '/workspace' },
      Env: ['SVC_ORCHESTRATOR_URL=http://secret', 'AWS_SECRET_ACCESS_KEY=x', 'PATH=/opt/bin:/bin'],
      HostConfig: {
        ...{ NetworkMode: 'none', CapDrop: ['ALL'], PidsLimit: 64, Tmpfs: { '/workspace': 'rw,exec', '/tmp': 'rw' } },
        Ulimits: [
          { Name: 'nofile', Soft: 1_024, Hard: 4_096 },
          { Name: 'nproc', Soft: 1_024, Hard: 4_096 },
        ],
      },
    });
    await made.start();
    container = made.id;
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
    await podman[Symbol.asyncDispose]();
  });

  const run = (
    more: Partial<ToolCommandRequest>,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<ToolCommandResult> => {
    const engine = new ContainerEngine({ location: { socketPath: podman.socketPath }, clock: systemClock });
    const { volumes, directory: workspaces } = setup;
    // No tenant may run commands on the host; that setting does not apply in its container.
    const commands = createToolCommands({ volumes, workspaces, view: null, allow: () => false, engine });
    const request: ToolCommandRequest = {
      ...{ tenant: 'acme', execution_id: randomUUID(), command: 'true', args: [], mounts: [], container_id: container },
      ...{ timeout_ms: 30_000, max_output_bytes: MAX_OUTPUT, env_denylist: [], ...more },
    };
    return commands.run(request, signal);
  };
  const sh = (script: string) => ({ command: 'sh', args: ['-c', script] });
  const processes = (): string => podman.podman('exec', container, 'ps', '-o', 'args');

  test('a command in the agent’s container gets its arguments as they are and answers streams and exit code', async () => {
    const { duration_ms, ...result } = await run({ command: 'printf', args: ['%s|', 'a b', '$HOME', '*', '-c'] });
    assert.deepEqual(result, { exit_code: 0, stdout: 'a b|$HOME|*|-c|', stderr: '' });
    assert.ok(duration_ms >= 0);
    const failed = await run(sh('pwd; echo err >&2; exit 3'));
    assert.deepEqual([failed.exit_code, failed.stdout, failed.stderr], [3, '/workspace\n', 'err\n']);
  });

  test('a command in the agent’s container has a clean environment and the container’s PATH, nothing else of the container’s', async () => {
    const { stdout } = await run({ command: 'env' });
    const names = stdout
      .split('\n')
      .map((line) => line.split('=')[0] ?? '')
      .filter((name) => !['', 'PWD', 'OLDPWD', 'SHLVL', '_'].includes(name));
    const expected = ['HOME', 'LANG', 'PATH', 'SVC_EXECUTION_ID', 'SVC_PROGRAM_RUN', 'SVC_WORKSPACE', 'TMPDIR'];
    assert.deepEqual(names.sort(), expected);
    assert.match(stdout, /^PATH=\/opt\/bin:\/bin$/m);
  });

  test('a command in the agent’s container may be a program of the workspace; an unknown one is not_found', async () => {
    const script = 'printf "#!/bin/sh\\necho hello \\$1\\n" > hi=1; chmod +x hi=1';
    await run(sh(script));
    assert.equal((await run({ command: './hi=1', args: ['x'] })).stdout, 'hello x\n');
    await assert.rejects(run({ command: 'no-such-command' }), { code: 'not_found' });
    await assert.rejects(run({ command: './missing' }), { code: 'not_found' });
    await assert.rejects(run({ container_id: 'f'.repeat(64) }), { code: 'not_found' });
    await assert.rejects(run({ command: '/bin/sh' }), { code: 'invalid_argument' });
  });

  for (const [title, script] of [
    ['sleeps', 'sleep 701'],
    ['ignores TERM', 'trap "" TERM; while :; do sleep 702; done'],
    ['has a child that ignores TERM', '(trap "" TERM; sleep 703) & wait'],
    ['has a child in a session of its own', 'setsid sleep 704 & wait'],
  ] as const) {
    test(`a command that ${title} ends at its time with all it started`, async () => {
      const result = await run({ ...sh(script), timeout_ms: 700 });
      assert.equal(result.stopped_by, 'timeout');
      assert.doesNotMatch(processes(), /sleep 70/);
    });
  }

  test('processes that a command leaves in the background end with it', async () => {
    const result = await run(sh('(setsid sh -c "sleep 705 &" >/dev/null 2>&1 &); sleep 0.2; echo done'));
    assert.equal(result.stdout, 'done\n');
    assert.doesNotMatch(processes(), /sleep 705/);
  });

  test('a flood of output ends the command, and the kept output is within the limit', async () => {
    for (const script of someOf(['yes', 'yes >&2', 'tr "\\0" x < /dev/zero', 'cat /dev/urandom'], 2)) {
      const { stopped_by, stdout, stderr } = await run(sh(script));
      assert.equal(stopped_by, 'output', script);
      assert.ok(Buffer.byteLength(stdout + stderr) <= MAX_OUTPUT);
      assert.ok(stdout.length + stderr.length > 1_000);
    }
    assert.doesNotMatch(processes(), /^(yes|tr|cat)/m);
  });

  test('a cancel ends a command in the agent’s container', async () => {
    const stop = new AbortController();
    const running = assert.rejects(run(sh('sleep 706'), stop.signal), { code: 'cancelled' });
    await waitUntil('the command to run', async () => (/sleep 706/.test(processes()) ? true : null));
    stop.abort(new SvcError('cancelled'));
    await running;
    assert.doesNotMatch(processes(), /sleep 706/);
  });

  test('processes that a command left are ended, and later commands are not affected', async () => {
    const engine = new ContainerEngine({
      ...{ location: { socketPath: podman.socketPath }, clock: systemClock, patienceMs: 5_000 },
    });
    const { signal } = new AbortController();
    for (const withinMs of [1, 400]) {
      const command = ['/bin/sh', '-c', 'MARK=left sleep 60 >/dev/null 2>&1 & :'];
      await startExec(engine, container, command, { directory: '/', signal });
      await endInContainer(engine, container, { pid: null, mark: 'MARK=left', stopped: false, withinMs });
      // An error in a listener of the time limit would end the process, and the test runner would count it for this
      // test.
      await once(AbortSignal.timeout(withinMs + 100), 'abort');
    }
    await endInContainer(engine, container, { pid: null, mark: 'MARK=left', stopped: false });
    await waitUntil('nothing to be left', async () => !(await run({ command: 'ps' })).stdout.includes('sleep 60'));
  });
});
