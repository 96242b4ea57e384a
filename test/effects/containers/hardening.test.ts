import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { initFailure } from '../../../effects/containers/engine-error.ts';
import { NEEDS_CATATONIT, NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { LIMITS, type PodmanUnderTest, podmanUnderTest, sh } from '../../support/podman-containers.ts';
import { sample } from '../../support/size.ts';

const MiB = 1_048_576;

/** In a normal run a test that does not depend on an init has an engine of one random kind. */
const CHOSEN = sample({ normal: randomInt(2), long: null });

/**
 * Engines with an init start it although the command cannot be executed; the result must be the same for both kinds.
 */
for (const init of [true, false]) {
  const engine = init ? 'with an init' : 'without an init';
  describe(`a container of an engine ${engine} is hardened and limited`, init ? NEEDS_CATATONIT : NEEDS_PODMAN, () =>
    hardening(init),
  );
}

function hardening(init: boolean): void {
  let setup: PodmanUnderTest;
  before(async () => {
    setup = await podmanUnderTest({ podman: await TestPodman.start({ init }) });
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
  });

  let count = 0;
  const promise = (title: string, run: () => Promise<void>): void => {
    count += 1;
    if (CHOSEN === null || (count + Number(init)) % 2 === CHOSEN) test(title, run);
  };

  test('a container seen from inside: no network but lo, no capability, no new privileges, no core files', async () => {
    const look =
      'ls /sys/class/net; grep -E "CapEff|CapBnd|NoNewPrivs|Seccomp:" /proc/self/status; ulimit -c; ulimit -n';
    const { stdout } = await setup.run(sh(look));
    const lines = stdout.split('\n').map((line) => line.replace(/\s+/, ' '));
    assert.deepEqual(lines.slice(0, 7), [
      'lo',
      'CapEff: 0000000000000000',
      'CapBnd: 0000000000000000',
      'NoNewPrivs: 1',
      'Seccomp: 2',
      '0',
      '1024',
    ]);
  });

  promise('the root is writable by default and not when the node says so; /tmp always is, up to its size', async () => {
    const script =
      'touch /etc/new && echo root; touch /tmp/new && echo tmp; dd if=/dev/zero of=/tmp/big bs=1M count=20';
    const open = await setup.run(sh(script));
    assert.equal(open.stdout, 'root\ntmp\n');
    assert.match(open.stderr, /No space left on device/);
    const closed = await setup.runOn({ limits: { ...LIMITS, readOnlyRoot: true } }, sh(script));
    assert.equal(closed.stdout, 'tmp\n');
    assert.match(closed.stderr, /Read-only file system/);
  });

  promise('a sealed one has no network, no writable root and no user with rights, whatever the node says', async () => {
    const open = { limits: { ...LIMITS, networkMode: 'host', readOnlyRoot: false } };
    const script = 'ls /sys/class/net; id -u; touch /etc/new 2>/dev/null || echo closed; touch /tmp/new && echo tmp';
    const sealed = await setup.runOn(open, { ...sh(script), sealed: true, workdir: '/tmp' });
    assert.equal(sealed.stdout, 'lo\n65534\nclosed\ntmp\n');
  });

  promise('the user is the image’s unless the node names one', async () => {
    assert.equal((await setup.run(sh('id -u'))).stdout, '0\n');
    assert.equal((await setup.runOn({ limits: { ...LIMITS, user: '1000:1000' } }, sh('id -u'))).stdout, '1000\n');
  });

  promise('too much memory kills it and says so', async () => {
    const result = await setup.run({
      ...sh('x=$(head -c 100000000 /dev/zero | tr "\\0" x); echo no'),
      memory_bytes: 32 * MiB,
    });
    assert.deepEqual([result.exit_code, result.oom_killed, result.stopped_by], [137, true, 'memory']);
    assert.equal(result.timed_out, false);
  });

  promise('processor time is throttled to its share', async () => {
    // Four processes want more than their share; on a busy machine it may take some seconds until they get it in one
    // period.
    const busy =
      'for i in 1 2 3 4; do while :; do :; done & done; end=$(($(date +%s) + 40)); until [ $(date +%s) -gt $end ] || cat /sys/fs/cgroup/cpu/cpu.stat /sys/fs/cgroup/cpu.stat | grep "nr_throttled [1-9]"; do sleep 0.2; done; kill -9 $(jobs -p)';
    const { stdout } = await setup.run({ ...sh(busy), cpu_millicores: 100 });
    assert.ok(Number(/nr_throttled (\d+)/.exec(stdout)?.[1]) > 0, stdout);
    const many = await setup.run({ ...sh('true'), cpu_millicores: 64_000 });
    assert.equal(many.exit_code, 0, 'a limit above the machine’s is cut to the machine’s');
  });

  promise('time over: killed, exit code 137, and what it wrote is there', async () => {
    const result = await setup.run({ ...sh('trap "" TERM; echo began; sleep 60'), timeout_ms: 3_000 });
    assert.deepEqual([result.exit_code, result.timed_out, result.stopped_by], [137, true, 'timeout']);
    assert.equal(result.oom_killed, false);
    assert.equal(result.stdout, 'began\n');
    assert.ok(result.duration_ms >= 2_900 && result.duration_ms < 30_000, String(result.duration_ms));
  });

  promise('the time of its state over: ended like that, with what it wrote', async () => {
    const result = await setup.run({ ...sh('echo began; sleep 60'), timeout_ms: 60_000, within_ms: 6_000 });
    assert.deepEqual([result.exit_code, result.timed_out, result.stdout], [137, true, 'began\n']);
    assert.ok(result.duration_ms < 6_500, String(result.duration_ms));
  });

  promise('too many processes: the kernel refuses, and that is visible', async () => {
    const result = await setup.run(sh('for i in $(seq 100); do sleep 5 & done; wait'));
    assert.notEqual(result.exit_code, 0);
    assert.match(result.stderr, /can't fork: Resource temporarily unavailable/);
  });

  promise('volumes are mounted anywhere, read-only where said', async () => {
    const mounts = [
      { volume_id: 'one', mount_path: '/data/deep/er' },
      { volume_id: 'two', mount_path: '/ro', read_only: true },
    ];
    const result = await setup.run({ ...sh('echo x > /data/deep/er/file; touch /ro/file'), mounts });
    assert.match(result.stderr, /Read-only file system/);
    assert.deepEqual(await readdir(setup.volume('one')), ['file']);
    const clash = [...mounts, { volume_id: 'three', mount_path: '/ro/' }];
    await assert.rejects(setup.run({ mounts: clash }), /expected one volume for each path/);
  });

  promise(
    'a volume over its quota ends the container, whose output is kept, and the next one does not start',
    async () => {
      setup.quotas.set('small', MiB);
      const mounts = [{ volume_id: 'small', mount_path: '/data' }];
      const endless = sh('echo before; while :; do head -c 300000 /dev/zero >> /data/file; sleep 0.05; done');
      const ended = await setup.run({ ...endless, mounts });
      assert.deepEqual([ended.failure?.code, ended.stdout, ended.exit_code], ['quota_exceeded', 'before\n', 137]);
      await assert.rejects(setup.run({ ...sh('true'), mounts }), { code: 'quota_exceeded' });
      const reading = [{ volume_id: 'small', mount_path: '/data', read_only: true }];
      assert.equal((await setup.run({ ...sh('true'), mounts: reading })).exit_code, 0);
    },
  );

  test('a command that cannot be executed has the exit code that a shell gives', async () => {
    await assert.rejects(setup.run({ command: ['/no/such'] }), {
      code: 'container_failed',
      message: /exit code 127.*no\/such/s,
    });
    await assert.rejects(setup.run({ command: ['/etc'] }), { code: 'container_failed', message: /exit code 126/ });
    const named = await setup.run({ command: ['nothing-like-it'] }).catch((error: unknown) => String(error));
    assert.match(String(named), /exit code 127.*nothing-like-it/s);
    const shell = await setup.run({ command: ['nothing-like-it'], shell: true });
    assert.equal(shell.exit_code, 127);
    assert.equal(setup.warnings.length, init ? 0 : 1, 'an engine without an init is logged once');
  });

  promise('an image that is not there is named', async () => {
    const asked = { image: 'localhost/none:1', image_pull_policy: 'Never' } as const;
    await assert.rejects(setup.run(asked), { code: 'image_unavailable', message: /localhost\/none:1.*Never/ });
    await assert.rejects(setup.run({ image: '127.0.0.1:9/none:1' }), {
      code: 'registry_unreachable',
      message: /127.0.0.1:9.*refused/,
    });
  });
}

test('the line of an init that could not execute its command is not taken for output of commands', () => {
  assert.equal(
    initFailure(1, 0, 'ERROR (catatonit:7): failed to exec pid1: No such file or directory\n'),
    'No such file or directory',
  );
  assert.equal(
    initFailure(127, 0, '[FATAL tini (7)] exec /no/such failed: No such file or directory\n'),
    'No such file or directory',
  );
  assert.equal(initFailure(126, 0, '[FATAL tini (7)] exec /etc failed: Permission denied\n'), 'Permission denied');
  const line = 'ERROR (catatonit:7): failed to exec pid1: No such file or directory\n';
  for (const [code, stdoutBytes, stderr] of [
    [0, 0, line],
    [2, 0, line],
    [1, 3, line],
    [1, 0, `before\n${line}`],
    [1, 0, `${line}after\n`],
    [127, 0, 'sh: nope: not found\n'],
  ] as const) {
    assert.equal(initFailure(code, stdoutBytes, stderr), null, `${code} ${stdoutBytes} ${stderr}`);
  }
});
