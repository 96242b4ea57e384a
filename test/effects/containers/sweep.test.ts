import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type ContainerSweepOptions, startContainerSweep } from '../../../effects/containers/sweep.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { BUSYBOX, NEEDS_PODMAN } from '../../support/podman.ts';
import { type PodmanUnderTest, podmanUnderTest, REALM, sh, TENANT } from '../../support/podman-containers.ts';
import { waitUntil } from '../../support/wait-until.ts';

describe('the removal of containers that no effect waits for', NEEDS_PODMAN, () => {
  let setup: PodmanUnderTest;
  before(async () => {
    setup = await podmanUnderTest();
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
  });

  const sweep = (more: Partial<ContainerSweepOptions> = {}) =>
    startContainerSweep({ ...setup.parts, realm: REALM, clock: systemClock, ...more });
  const count = async (effectId: string) =>
    (await setup.podman.docker.listContainers({ all: true, filters: { label: [`dev.svc.effect=${effectId}`] } }))
      .length;

  test('a pass removes ended and running containers without a waiter and leaves the others', async () => {
    const [ended, wanted, running] = [randomUUID(), randomUUID(), randomUUID()];
    await setup.run(sh('true'), { effectId: ended });
    await setup.run(sh('true'), { effectId: wanted });
    const stop = new AbortController();
    const leaving = setup.run(sh('sleep 60'), { effectId: running, signal: stop.signal });
    await waitUntil('it runs', async () => (await setup.podman.docker.listContainers()).length > 0);
    stop.abort(new SvcError('cancelled'));
    await assert.rejects(leaving);
    const Labels = { 'dev.svc.effect': ended };
    const foreign = await setup.podman.docker.createContainer({ Image: BUSYBOX, Cmd: ['true'], Labels });
    setup.unwanted.add(ended);
    setup.unwanted.add(running);
    const other = sweep({ realm: 'another installation' });
    assert.equal(await other.pass(), 0);
    const ours = sweep();
    assert.equal(await ours.pass(), 2);
    assert.deepEqual([await count(ended), await count(running), await count(wanted)], [1, 0, 1]);
    assert.equal((await foreign.inspect()).State.Status, 'created', 'other containers stay');
    assert.equal(await setup.starts.find(TENANT, ended), null);
    assert.notEqual(await setup.starts.find(TENANT, wanted), null);
    await Promise.all([other.stop(), ours.stop()]);
  });

  test('a container is removed soon after its result was delivered', async () => {
    const effectId = randomUUID();
    const one = sweep({ intervalMs: 60_000 });
    await setup.runOn({ onEnd: (owner) => one.soon(owner) }, sh('true'), { effectId });
    assert.equal(await count(effectId), 1, 'until then it is the record of the result');
    setup.unwanted.add(effectId);
    await waitUntil('the container to go', async () => (await count(effectId)) === 0);
    await one.stop();
  });

  test('passes run periodically, and continue after one that fails', async () => {
    const effectId = randomUUID();
    await setup.run(sh('true'), { effectId });
    let asked = 0;
    const isWanted = async () => {
      asked += 1;
      if (asked === 1) throw new SvcError('unavailable');
      return false;
    };
    const warned: string[] = [];
    const one = sweep({ intervalMs: 20, isWanted, warn: (message) => void warned.push(message) });
    await waitUntil('the container to go', async () => (await count(effectId)) === 0);
    await one.stop();
    assert.equal(warned.length, 1);
  });

  test('two containers run side by side', async () => {
    const [a, b] = await Promise.all([setup.run(sh('echo a; sleep 0.3')), setup.run(sh('echo b; sleep 0.3'))]);
    assert.deepEqual([a.stdout, b.stdout], ['a\n', 'b\n']);
  });
});
