import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createOptions } from '../../../effects/containers/create-options.ts';
import { ContainerInput } from '../../../effects/containers/input.ts';
import { createContainerStarts } from '../../../effects/containers/state.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { BUSYBOX, NEEDS_PODMAN } from '../../support/podman.ts';
import { LIMITS, type PodmanUnderTest, podmanUnderTest, REALM, sh, TENANT } from '../../support/podman-containers.ts';
import { sample } from '../../support/size.ts';
import { waitUntil } from '../../support/wait-until.ts';

const NODE = join(import.meta.dirname, '../../support/podman-node.ts');

/** Counts its runs in a volume, prints the count, and waits for a file before it ends. */
const COUNTING =
  'echo run >> /data/runs; echo began; while [ ! -e /data/go ]; do sleep 0.05; done; echo ended >&2; exit 5';

describe('a container is adopted and never run twice', NEEDS_PODMAN, () => {
  let setup: PodmanUnderTest;
  before(async () => {
    setup = await podmanUnderTest();
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
  });

  const volume = async (): Promise<{ id: string; mounts: { volume_id: string; mount_path: string }[] }> => {
    const id = randomUUID();
    await mkdir(setup.volume(id), { recursive: true });
    return { id, mounts: [{ volume_id: id, mount_path: '/data' }] };
  };
  const runsIn = async (id: string): Promise<number> =>
    (await readFile(join(setup.volume(id), 'runs'), 'utf8').catch(() => '')).length / 'run\n'.length;
  /** On a busy machine a node that loads its sources and then starts a container takes half a minute. */
  const runs = (id: string, count: number) =>
    waitUntil(`${count} run`, async () => (await runsIn(id)) === count, 90_000);
  const container = (effectId: string) => setup.podman.docker.getContainer(`svc-${effectId}`);
  const exists = (effectId: string) =>
    container(effectId)
      .inspect()
      .then(
        () => true,
        () => false,
      );
  const go = (id: string) =>
    setup.podman.podman('run', '--rm', '-v', `${setup.volume(id)}:/data`, BUSYBOX, 'touch', '/data/go');

  test('after kill -9 of its node another one adopts the running container and has all of its output', async () => {
    const { id, mounts } = await volume();
    const effectId = randomUUID();
    const directory = join(setup.podman.directory, 'node-b');
    const args = [setup.podman.socketPath, directory, effectId, COUNTING, setup.volume(id)];
    const node = fork(NODE, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    await runs(id, 1);
    const gone = once(node, 'exit');
    node.kill('SIGKILL');
    await gone;
    const documents = new SqliteDocuments({ directory });
    await documents.open();
    const starts = await createContainerStarts(documents);
    const adopted = setup.runOn({ starts }, { ...sh(COUNTING), mounts }, { effectId, attempt: 2 });
    go(id);
    const result = await adopted;
    assert.deepEqual([result.exit_code, result.stdout, result.stderr], [5, 'began\n', 'ended\n']);
    const ended = await setup.runOn({ starts }, { ...sh(COUNTING), mounts }, { effectId, attempt: 3 });
    assert.deepEqual(ended, result, 'an ended container gives its result again');
    assert.equal(await runsIn(id), 1);
    await documents.close();
  });

  test('a node that stops leaves the container running for the next one', async () => {
    const { id, mounts } = await volume();
    const effectId = randomUUID();
    const stop = new AbortController();
    const first = setup.run({ ...sh(COUNTING), mounts }, { effectId, signal: stop.signal });
    await runs(id, 1);
    stop.abort(new SvcError('lease_lost'));
    await assert.rejects(first, { code: 'lease_lost' });
    assert.equal((await container(effectId).inspect()).State.Running, true);
    const next = setup.run({ ...sh(COUNTING), mounts }, { effectId, attempt: 2 });
    go(id);
    assert.equal((await next).exit_code, 5);
    assert.equal(await runsIn(id), 1);
  });

  test('a cancelled effect’s container is killed and removed at once', async () => {
    const { id, mounts } = await volume();
    const effectId = randomUUID();
    const stop = new AbortController();
    const first = setup.run({ ...sh(COUNTING), mounts }, { effectId, signal: stop.signal });
    await runs(id, 1);
    setup.unwanted.add(effectId);
    stop.abort(new SvcError('cancelled'));
    await assert.rejects(first, { code: 'cancelled' });
    assert.equal(await exists(effectId), false);
  });

  test('a request whose own timeout expires kills the container and keeps it as the record', async () => {
    const { id, mounts } = await volume();
    const effectId = randomUUID();
    const stop = new AbortController();
    const first = setup.run({ ...sh(COUNTING), mounts }, { effectId, signal: stop.signal });
    await runs(id, 1);
    stop.abort(new SvcError('deadline_exceeded'));
    await assert.rejects(first, { code: 'deadline_exceeded' });
    const again = await setup.run({ ...sh(COUNTING), mounts }, { effectId, attempt: 2 });
    assert.equal(again.exit_code, 137);
    assert.equal(await runsIn(id), 1);
  });

  test('a container that was started and is gone is in doubt, not run again', async () => {
    const { id, mounts } = await volume();
    const effectId = randomUUID();
    // Awaited at once, so that its rejection is always handled.
    const first = setup.run({ ...sh(COUNTING), mounts }, { effectId }).catch((error: unknown) => error);
    await runs(id, 1);
    await container(effectId).remove({ force: true });
    // A reader between its kill and its removal sees a killed container.
    const ended = await first;
    if (ended instanceof Error)
      assert.deepEqual({ code: Reflect.get(ended, 'code') }, { code: 'in_doubt' }, ended.message);
    else assert.equal(Reflect.get(Object(ended), 'exit_code'), 137);
    await assert.rejects(setup.run({ ...sh(COUNTING), mounts }, { effectId, attempt: 2 }), { code: 'in_doubt' });
    assert.equal(await runsIn(id), 1);
  });

  test('a later attempt runs a container that was certainly never started', async () => {
    const result = await setup.run(sh('echo here'), { attempt: 2 });
    assert.equal(result.stdout, 'here\n');
  });

  const made = (effectId: string) => {
    const owner = { tenant: TENANT, executionId: 'w1', effectId, address: `workflow/${TENANT}/w1` } as const;
    const asked = { workflow_execution_id: 'w1', state_name: 'S', image: BUSYBOX, timeout_ms: 9_000 };
    const input = ContainerInput.parse({ ...asked, ...sh('echo once') });
    const about = { input, owner, realm: REALM, node: 'node-b', limits: LIMITS, mounts: [], cpus: 2, init: false };
    return setup.podman.docker.createContainer(createOptions(about));
  };

  test('a container that was made and never started is started', async () => {
    const effectId = randomUUID();
    await made(effectId);
    assert.equal((await setup.run(sh('echo once'), { effectId, attempt: 2 })).stdout, 'once\n');
  });

  test('a node that dies while it removes an unstarted container leaves nothing in doubt: the container runs once', async () => {
    const effectId = randomUUID();
    const unstarted = await made(effectId);
    const { Id: containerId, Created } = await unstarted.inspect();
    await setup.starts.record(TENANT, effectId, { containerId, attempt: 1, createdAt: Date.parse(Created) });
    await unstarted.remove();
    assert.equal((await setup.run(sh('echo once'), { effectId, attempt: 3 })).stdout, 'once\n');
    assert.equal((await setup.starts.find(TENANT, effectId))?.attempt, 3);
  });

  test('a container that another engine has started is not started here', async () => {
    const effectId = randomUUID();
    await setup.starts.record(TENANT, effectId, {
      containerId: 'of another engine',
      attempt: 1,
      createdAt: Date.now(),
    });
    await assert.rejects(setup.run(sh('true'), { effectId }), { code: 'in_doubt' });
    assert.equal(await exists(effectId), false);
  });

  test('a node that resumes late starts no container for an effect that is over', async () => {
    const effectId = randomUUID();
    setup.unwanted.add(effectId);
    await assert.rejects(setup.run(sh('true'), { effectId }), { code: 'cancelled' });
  });

  test('a container of another tenant or installation is not adopted', async () => {
    const effectId = randomUUID();
    await setup.run(sh('true'), { effectId });
    await assert.rejects(setup.run(sh('true'), { effectId, attempt: 2, tenant: 'other' }), {
      code: 'container_failed',
    });
    await assert.rejects(setup.runOn({ realm: 'r2' }, sh('true'), { effectId, attempt: 2 }), {
      code: 'container_failed',
    });
  });

  test('a start that may still be in flight finds its container removed, and the container runs once', async () => {
    const { id, mounts } = await volume();
    const effectId = randomUUID();
    const quick = { ...sh('echo run >> /data/runs; echo done'), mounts };
    const held = Promise.withResolvers<boolean>();
    const frozen = setup.runOn({ isWanted: () => held.promise }, quick, { effectId });
    await waitUntil('the start to be recorded', () => setup.starts.find(TENANT, effectId));
    assert.equal((await setup.run(quick, { effectId, attempt: 2 })).stdout, 'done\n');
    held.resolve(true);
    await assert.rejects(frozen, { code: 'container_failed' });
    assert.equal(await runsIn(id), 1);
  });

  test('two concurrent attempts run the container once', async () => {
    for (let round = 0; round < sample({ normal: 1, long: 3 }); round += 1) {
      const { id, mounts } = await volume();
      const effectId = randomUUID();
      const quick = { ...sh('echo run >> /data/runs; echo done'), mounts };
      const both = await Promise.allSettled([
        setup.run(quick, { effectId }),
        setup.run(quick, { effectId, attempt: 2 }),
      ]);
      const results = both.map((one) => (one.status === 'fulfilled' ? one.value.stdout : one.reason.code));
      // A container that began and ended while the other attempt removed it has no result, so it is in doubt.
      assert.ok(results.includes('done\n') || results.includes('in_doubt'), results.join());
      assert.equal(await runsIn(id), 1);
    }
  });
});
