import assert from 'node:assert/strict';
import { chmod, chown, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { giveFile } from '../../../effects/volumes/ownership.ts';
import { volumesUnderTest } from './volumes-under-test.ts';

const skip = process.getuid?.() === 0 ? false : 'only root can give files away';
const text = (value: string): Buffer => Buffer.from(value);

describe('files of a node that runs as root in a directory of another user', { skip }, () => {
  test('files, directories and replaced files belong to the user of the directory', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume();
    const { directory } = await setup.volumes.open('acme', id);
    await files.write('acme', id, 'before', text('x'));
    await chown(directory, 1_000, 1_001);
    await files.write('acme', id, 'a/b/file', text('one'));
    await files.write('acme', id, 'a/b/file', text('two'), { expected: text('one') });
    await files.mkdir('acme', id, 'made');
    for (const path of ['a', 'a/b', 'a/b/file', 'made']) {
      const { uid, gid } = await stat(join(directory, path));
      assert.deepEqual([uid, gid], [1_000, 1_001], path);
    }
    assert.equal((await stat(join(directory, 'before'))).uid, 0);
  });

  test('a link in the place of a file is never followed', async () => {
    await using setup = await volumesUnderTest();
    const id = await setup.volume();
    const { directory } = await setup.volumes.open('acme', id);
    const target = join(directory, 'target');
    await writeFile(target, 'x');
    await chmod(target, 0o600);
    await symlink(target, join(directory, 'link'));
    await chown(directory, 1_000, 1_000);
    await assert.rejects(giveFile(join(directory, 'link'), directory, 0o777), { code: 'ELOOP' });
    const { uid, mode } = await stat(target);
    assert.deepEqual([uid, mode & 0o777], [0, 0o600]);
    assert.equal(await readFile(target, 'utf8'), 'x');
  });
});
