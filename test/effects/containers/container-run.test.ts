import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NEEDS_PODMAN } from '../../support/podman.ts';
import { type PodmanUnderTest, podmanUnderTest, sh } from '../../support/podman-containers.ts';

describe('container.run', NEEDS_PODMAN, () => {
  let setup: PodmanUnderTest;
  before(async () => {
    setup = await podmanUnderTest();
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
  });

  test('both streams and the exit code come back', async () => {
    const result = await setup.run(sh('echo out; printf err >&2; exit 3'));
    assert.equal(result.exit_code, 3);
    assert.equal(result.stdout, 'out\n');
    assert.equal(result.stderr, 'err');
    assert.deepEqual([result.stdout_bytes, result.stderr_bytes], [4, 3]);
    assert.deepEqual([result.timed_out, result.oom_killed, result.stopped_by], [false, false, undefined]);
  });

  test('with shell the elements are joined by a space for sh -c, without it they are arguments as they are', async () => {
    const joined = await setup.run({ command: ['echo', 'a b', '&&', 'echo', '$X'], shell: true, env: { X: 'x' } });
    assert.equal(joined.stdout, 'a b\nx\n');
    const apart = await setup.run({ command: ['echo', 'a b', '&&', '$X'], env: { X: 'x' } });
    assert.equal(apart.stdout, 'a b && $X\n');
  });

  test('the command runs in the working directory, /workspace when none is named', async () => {
    assert.equal((await setup.run(sh('pwd'))).stdout, '/workspace\n');
    assert.equal((await setup.run({ ...sh('pwd'), workdir: '/some/where' })).stdout, '/some/where\n');
  });

  test('the environment has the variables of the manifest, the image and the engine, and none of the node', async () => {
    process.env.SVC_TEST_LEAK = 'leaked';
    const { stdout } = await setup.run({ command: ['env'], env: { ONLY: 'this' } });
    delete process.env.SVC_TEST_LEAK;
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.slice(0, line.indexOf('=')));
    assert.deepEqual(names.sort(), ['HOME', 'HOSTNAME', 'ONLY', 'PATH', 'TERM', 'container']);
  });

  test('hostile arguments, values and names arrive as they are or are refused', async () => {
    const nasty = 'a"b\'c\n$(touch /x)`id`\\ \u{1f600} ;--\t{{x}}';
    const { stdout } = await setup.run({
      command: ['sh', '-c', 'printf "%s|%s" "$1" "$NASTY"', '--', nasty],
      env: { NASTY: nasty },
    });
    assert.equal(stdout, `${nasty}|${nasty}`);
    await assert.rejects(setup.run({ command: ['true'], env: { 'A=B': 'x' } }), /name of a variable/);
    await assert.rejects(setup.run({ command: ['a\0b'] }), /NUL/);
    await assert.rejects(setup.run({ command: ['x'.repeat(1_048_576)] }), /less than 131071 bytes/);
    const many = Array.from({ length: 20 }, () => 'x'.repeat(100_000));
    await assert.rejects(setup.run({ command: ['true', ...many] }), /together must not exceed/);
    await assert.rejects(setup.run({ command: many.slice(0, 3), shell: true }), /joined command/);
    await assert.rejects(setup.run({ image: 'docker-archive:/etc/passwd' }), /image reference/);
    for (const mount_path of ['/', '/proc', '/proc/sys', '/dev', '/a/../proc', 'relative']) {
      await assert.rejects(setup.run({ mounts: [{ volume_id: 'v', mount_path }] }), { code: 'invalid_argument' });
    }
  });
});
