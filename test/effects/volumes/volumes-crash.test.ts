import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sweepVolumes } from '../../../effects/volumes/sweep.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { volumesUnderTest } from './volumes-under-test.ts';

test('a node killed while it creates and removes volumes leaves none incomplete', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-volumes-'));
  try {
    const kept: string[] = [];
    for (let life = 0; life < 4; life += 1) {
      const node = fork(join(import.meta.dirname, 'busy-node.ts'), [directory]);
      const enough = kept.length + 3 + life;
      node.on('message', (message: { kept: string }) => kept.push(message.kept));
      await waitUntil('volumes were made', () => kept.length >= enough);
      node.kill('SIGKILL');
      await once(node, 'exit');
    }
    await using setup = await volumesUnderTest({ directory });
    const { volumes } = setup;
    setup.clock.skewMs = 3_600_000;
    const warn = (message: string, error: unknown) => assert.ifError(`${message}: ${String(error)}`);
    await sweepVolumes({ store: volumes.store, clock: setup.clock, warn });
    const listed = (await volumes.list('acme', { limit: 1_000, skip: 0 })).items;
    const known = await directoriesOf(volumes, listed);
    assert.deepEqual((await readdir(join(setup.root, 'acme'))).sort(), known);
    for (const id of kept) {
      assert.equal(String(await volumes.files.read('acme', id, 'kept')), `content of ${id}`);
    }
    assert.ok(listed.length >= kept.length && listed.length <= kept.length + 8, `${listed.length} of ${kept.length}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

/** Opening creates the directory of a volume that was cut off between its document and its directory. */
async function directoriesOf(
  volumes: Awaited<ReturnType<typeof volumesUnderTest>>['volumes'],
  listed: readonly { readonly id: string }[],
): Promise<string[]> {
  const names: string[] = [];
  for (const { id } of listed) {
    await volumes.open('acme', id);
    names.push(id);
  }
  return names.sort();
}
