import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ContainerEngine } from '../../../effects/containers/engine.ts';
import { findEngine } from '../../../effects/containers/engine-error.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { type PodmanUnderTest, podmanUnderTest, sh } from '../../support/podman-containers.ts';
import { waitUntil } from '../../support/wait-until.ts';

const WAITING = 'seq 1000; while [ ! -e /data/go ]; do sleep 0.05; done; echo late';

describe('the engine goes away and comes back', NEEDS_PODMAN, () => {
  let setup: PodmanUnderTest;
  before(async () => {
    setup = await podmanUnderTest({ podman: await TestPodman.start({ own: true }), patienceMs: 15_000 });
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
  });

  const running = () =>
    waitUntil('the container to run', async () => (await setup.podman.docker.listContainers()).length > 0);
  const go = (volume: string) =>
    setup.podman.podman('run', '--rm', '-v', `${setup.volume(volume)}:/d`, 'svc-test-busybox:1', 'touch', '/d/go');

  test('a run continues through a restart of the engine, with all of its output', async () => {
    const mounts = [{ volume_id: 'restart', mount_path: '/data' }];
    const run = setup.run({ ...sh(WAITING), mounts });
    await running();
    await setup.podman.down();
    go('restart');
    await setup.podman.up();
    const { stdout, exit_code } = await run;
    assert.equal(exit_code, 0);
    assert.equal(stdout.split('\n').length, 1_002);
    assert.match(stdout, /1000\nlate\n$/);
  });

  test('a run that begins while the engine is away waits for it', async () => {
    await setup.podman.down();
    const before = setup.parts.engine.interruptions;
    const run = setup.run(sh('echo here'));
    await waitUntil('the engine to be missed', () => setup.parts.engine.interruptions > before);
    await setup.podman.up();
    assert.equal((await run).stdout, 'here\n');
  });

  test('an engine that is down for too long is unavailable, and the next attempt adopts the running container', async () => {
    const effectId = randomUUID();
    const mounts = [{ volume_id: 'long', mount_path: '/data' }];
    const location = { socketPath: setup.podman.socketPath };
    const impatient = new ContainerEngine({ location, clock: systemClock, patienceMs: 200 });
    const first = setup.runOn({ engine: impatient }, { ...sh(WAITING), mounts }, { effectId });
    await running();
    await setup.podman.down();
    await assert.rejects(first, { code: 'unavailable' });
    await setup.podman.up();
    const next = setup.run({ ...sh(WAITING), mounts }, { effectId, attempt: 2 });
    go('long');
    assert.match((await next).stdout, /1000\nlate\n$/);
  });

  test('a call to an engine that hangs ends with an error', async () => {
    const location = { socketPath: setup.podman.socketPath };
    const engine = new ContainerEngine({ location, clock: systemClock, patienceMs: 100, callTimeoutMs: 100 });
    setup.podman.freeze();
    try {
      await assert.rejects(setup.runOn({ engine }, sh('true')), { code: 'unavailable' });
    } finally {
      setup.podman.thaw();
    }
  });
});

test('without an engine the refusal names the setting', async () => {
  const { runEffect } = await import('../../support/podman-containers.ts');
  const nothing = { engine: null } as Parameters<typeof runEffect>[0];
  await assert.rejects(runEffect(nothing, {}, {}), {
    code: 'unsupported_isolation',
    message: /spec\.runtime\.container_socket_path/,
  });
});

test('the setting has priority over DOCKER_HOST, that over CONTAINER_HOST, and sockets count only when they exist', () => {
  const env = { DOCKER_HOST: 'tcp://10.0.0.1:2376', CONTAINER_HOST: 'unix:///c.sock', XDG_RUNTIME_DIR: '/run/user/7' };
  const exists = (path: string) => path === '/run/user/7/podman/podman.sock';
  assert.deepEqual(findEngine({ configured: '/a.sock', env, exists }), { socketPath: '/a.sock' });
  assert.deepEqual(findEngine({ env, exists }), { protocol: 'http', host: '10.0.0.1', port: 2_376 });
  assert.deepEqual(findEngine({ env: { ...env, DOCKER_HOST: '' }, exists }), { socketPath: '/c.sock' });
  const found = findEngine({ env: { XDG_RUNTIME_DIR: '/run/user/7' }, exists });
  assert.deepEqual(found, { socketPath: '/run/user/7/podman/podman.sock' });
  assert.equal(findEngine({ env: {}, exists: () => false }), null);
  assert.equal(
    findEngine({ env: {}, exists: (path) => path === join('/run', 'podman/podman.sock') })?.constructor,
    Object,
  );
  assert.throws(() => findEngine({ configured: 'ssh://host', env }), {
    code: 'invalid_config',
    message: /socket_path/,
  });
});
