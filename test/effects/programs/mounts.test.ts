import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openWorkspaceView } from '../../../effects/programs/workspace-view.ts';
import { type ProgramsUnderTest, programsUnderTest } from '../../support/program-under-test.ts';
import { MiB, type VolumesUnderTest, volumesUnderTest } from '../volumes/volumes-under-test.ts';

let volumes: VolumesUnderTest;
let setup: ProgramsUnderTest;

before(async () => {
  volumes = await volumesUnderTest();
  setup = await programsUnderTest({ volumes: volumes.volumes });
});
after(async () => {
  await setup.close();
  await volumes[Symbol.asyncDispose]();
});

const mount = (volume_id: string, mount_path: string, more: object = {}) => ({
  ...{ volume_id, mount_path, read_only: false, create: false },
  ...more,
});

describe('workflow volumes of a program', () => {
  test('a workflow volume at /workspace is the workspace of a program, other volumes are below it', async () => {
    const [own, shared] = [await volumes.volume(), await volumes.volume()];
    const path = await setup.script('#!/bin/sh\npwd; echo $HOME; echo mine > a; echo ours > data/b\n');
    const mounts = [mount(own, '/workspace'), mount(shared, '/workspace/data')];
    const { stdout } = await setup.run({ path, mounts });
    const { directory } = await volumes.volumes.open('acme', own);
    assert.equal(stdout, `${directory}\n${directory}\n`);
    assert.equal(String(await volumes.volumes.files.read('acme', own, 'a')), 'mine\n');
    assert.equal(String(await volumes.volumes.files.read('acme', shared, 'b')), 'ours\n');
    assert.equal((await setup.run({ path, mounts, execution_id: 'e2' })).exit_code, 0);
  });

  test('without one at /workspace the execution keeps its own workspace', async () => {
    const shared = await volumes.volume();
    const path = await setup.script('#!/bin/sh\npwd; echo ours > data/in/b\n');
    const { stdout } = await setup.run({ path, execution_id: 'e3', mounts: [mount(shared, '/workspace/data/in')] });
    assert.equal(stdout, `${join(setup.workspaces, 'acme', 'e3')}\n`);
    assert.equal(String(await volumes.volumes.files.read('acme', shared, 'b')), 'ours\n');
  });

  test('a mount that cannot be enforced or found is refused by name', async () => {
    const path = await setup.script('#!/bin/sh\n');
    const id = await volumes.volume();
    const run = (...mounts: ReturnType<typeof mount>[]) => setup.run({ path, mounts, execution_id: 'e4' });
    const named = { code: 'unsupported_isolation', message: /\/workspace\/ro is read-only/ };
    await assert.rejects(run(mount(id, '/workspace/ro', { read_only: true })), named);
    await assert.rejects(run(mount(randomUUID(), '/workspace/x')), { code: 'not_found' });
    await assert.rejects(run(mount(id, '/data')), /at or under \/workspace/);
    const implicit = randomUUID();
    assert.equal((await run(mount(implicit, '/workspace', { create: true }))).exit_code, 0);
    await mkdir(join(setup.workspaces, 'acme', 'e4'), { recursive: true });
    await writeFile(join(setup.workspaces, 'acme', 'e4', 'taken'), '');
    await assert.rejects(run(mount(id, '/workspace/taken')), { code: 'failed_precondition' });
    const plain = await programsUnderTest();
    await assert.rejects(plain.run({ path, mounts: [mount(id, '/workspace')] }), { code: 'unsupported_isolation' });
    await plain.close();
  });

  test('a program that fills a volume is ended with quota_exceeded', async () => {
    const id = await volumes.volume(MiB);
    const path = await setup.script('#!/bin/sh\nhead -c 3000000 /dev/zero > big; sleep 600\n');
    await assert.rejects(setup.run({ path, mounts: [mount(id, '/workspace')] }), { code: 'quota_exceeded' });
    assert.equal(volumes.volumes.store.isHeld('acme', id), false);
  });

  test('where the node may mount, programs find /workspace too, and read-only volumes', async (t) => {
    const { view } = await openWorkspaceView(setup.workspaces);
    if (view === null) return t.skip('no mount namespace here');
    const viewed = await programsUnderTest({ volumes: volumes.volumes, view });
    await mkdir(join(viewed.workspaces, '.view'), { recursive: true });
    const id = await volumes.volume();
    await volumes.volumes.files.write('acme', id, 'in', Buffer.from('given'));
    const path = await viewed.script('#!/bin/sh\npwd; cat /workspace/ro/in; echo x > ro/y || exit 9\n');
    const { stdout, exit_code } = await viewed.run({ path, mounts: [mount(id, '/workspace/ro', { read_only: true })] });
    assert.deepEqual([stdout, exit_code], ['/workspace\ngiven', 9]);
    await viewed.close();
  });
});
