import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type VolumesUnderTest, volumesUnderTest } from './volumes-under-test.ts';

let setup: VolumesUnderTest;
before(async () => {
  setup = await volumesUnderTest();
});
after(async () => setup[Symbol.asyncDispose]());

async function tree(files: Readonly<Record<string, string>>): Promise<{ id: string; directory: string }> {
  const id = await setup.volume();
  const { directory } = await setup.volumes.open('acme', id);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(directory, name, '..'), { recursive: true });
    await writeFile(join(directory, name), content);
  }
  return { id, directory };
}

/** Files that this process has open below a directory. */
const openBelow = (directory: string): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = execFileSync('readlink', [`/proc/${process.pid}/fd/${fd}`], { encoding: 'utf8' }).trim();
      return target.startsWith(directory) ? [target] : [];
    } catch {
      return [];
    }
  });

describe('a search in a volume', () => {
  test('a search is one event, whatever its result', async () => {
    const { id } = await tree({ 'a/b': 'x', 'a/c': 'x', d: 'x' });
    setup.named();
    await setup.volumes.files.grep('acme', id, '/', 'x');
    await setup.volumes.files.glob('acme', id, '/', '**');
    assert.deepEqual(setup.named(), ['FileRead', 'DirectoryListed']);
  });

  test('a search ends at its limits and names the limit', async () => {
    const names = Array.from({ length: 300 }, (_, index) => [`d${index % 7}/f${index}`, 'match\nmatch\n']);
    const { id } = await tree(Object.fromEntries(names));
    const { files } = setup.volumes;
    const found = await files.grep('acme', id, '/', 'match', { found: 10 });
    assert.deepEqual([found.matches.length, found.ended_by], [10, 'found']);
    assert.equal((await files.grep('acme', id, '/', 'match', { entries: 20 })).ended_by, 'entries');
    assert.deepEqual(await files.glob('acme', id, '/', '**/f1*', { found: 2 }), {
      ...{ paths: ['d0/f105', 'd0/f112'], ended_by: 'found' },
    });
    assert.equal((await files.glob('acme', id, '/', '**')).ended_by, null);
  });

  test('a search skips binary and too large files and everything that is no file; pipes never block it', async () => {
    const { id, directory } = await tree({
      text: 'needle',
      binary: 'needle\0',
      large: 'needle'.repeat(1_500_000).slice(0, 8 * 1024 * 1024 + 1),
    });
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    await symlink('text', join(directory, 'link'));
    const { matches, skipped, files } = await setup.volumes.files.grep('acme', id, '/', 'needle');
    assert.deepEqual([matches.map(({ path }) => path), skipped, files], [['text'], 2, 1]);
  });

  test('a search cuts long lines, and stays linear with patterns made to be slow', async () => {
    const { id } = await tree({ long: `${'a'.repeat(100_000)}!` });
    const [match] = (await setup.volumes.files.grep('acme', id, '/', '(a*)*!')).matches;
    assert.ok(match !== undefined && match.text.length < 600);
    assert.equal((await setup.volumes.files.grep('acme', id, '/', '(a|aa)+b')).matches.length, 0);
  });

  test('a search that computes too long is ended, and leaves nothing open', async () => {
    const { id, directory } = await tree({ ['a'.repeat(200)]: '' });
    const slow = `${'*a'.repeat(40)}b`;
    const searching = setup.volumes.files.glob('acme', id, '/', slow, { timeMs: 200 });
    await assert.rejects(searching, { code: 'deadline_exceeded' });
    const cancel = new AbortController();
    const cancelled = setup.volumes.files.glob('acme', id, '/', slow, { signal: cancel.signal });
    cancel.abort(new SvcError('cancelled', 'enough'));
    await assert.rejects(cancelled, { code: 'cancelled' });
    await waitUntil('all descriptors are closed', () => openBelow(directory).length === 0);
    assert.deepEqual((await setup.volumes.files.glob('acme', id, '/', '*')).paths.length, 1);
  });

  test('many concurrent searches are all answered', async () => {
    const { id } = await tree({ 'a/b': 'x' });
    const all = Array.from({ length: 40 }, () => setup.volumes.files.grep('acme', id, '/', 'x'));
    for (const { matches } of await Promise.all(all)) assert.deepEqual(matches, [{ path: 'a/b', line: 1, text: 'x' }]);
  });

  test('a search of another tenant finds no volume; a pattern that does not compile is refused', async () => {
    const { id } = await tree({ a: 'x' });
    await assert.rejects(setup.volumes.files.grep('other', id, '/', 'x'), { code: 'not_found' });
    await assert.rejects(setup.volumes.files.grep('acme', id, '/', '('), {
      code: 'invalid_argument',
      field: 'pattern',
    });
    await assert.rejects(setup.volumes.files.glob('acme', id, '/', '../*'), { code: 'invalid_argument' });
    await assert.rejects(setup.volumes.files.glob('acme', id, '/..', '*'), { code: 'forbidden' });
  });
});

describe('a directory that becomes a link while it is searched', () => {
  test('a directory that becomes a link while it is searched never leads out of the volume', async () => {
    const outside = join(setup.directory, 'outside');
    await mkdir(join(outside, 'sub'), { recursive: true });
    for (const name of ['inner', 'sub/inner']) await writeFile(join(outside, name), 'outside of every volume');
    const names = Array.from({ length: 40 }, (_, index) => `d${index}`);
    const { id, directory } = await tree(
      Object.fromEntries(
        names.flatMap((name) => [
          [`${name}/inner`, 'inside'],
          [`${name}/sub/inner`, 'inside'],
        ]),
      ),
    );
    let swapping = true;
    let swaps = 0;
    const swap = async (): Promise<void> => {
      while (swapping) {
        for (const name of names) {
          const [at, aside] = [join(directory, name), join(directory, `.aside-${name}`)];
          await rename(at, aside);
          await symlink(outside, at);
          await rm(at);
          await rename(aside, at);
          swaps += 1;
        }
      }
    };
    const swapper = swap();
    let inside = 0;
    try {
      for (let round = 0; round < 150; round += 1) {
        const { matches } = await setup.volumes.files.grep('acme', id, '/', '.*');
        for (const { text, path } of matches) {
          assert.equal(text, 'inside', path);
          inside += 1;
        }
        const { matches: below } = await setup.volumes.files.grep('acme', id, '/d7', '.*').catch((error: unknown) => {
          assert.ok(
            error instanceof SvcError && ['not_found', 'forbidden', 'failed_precondition'].includes(error.code),
          );
          return { matches: [] };
        });
        for (const { text } of below) assert.equal(text, 'inside');
      }
    } finally {
      swapping = false;
      await swapper;
    }
    assert.ok(swaps > 100 && inside > 1_000, `${swaps} swaps, ${inside} lines`);
  });
});

describe('a write that replaces known content', () => {
  test('a write that replaces known content is refused when the file has other content, or is gone', async () => {
    const { id } = await tree({ file: 'one' });
    const { files } = setup.volumes;
    const expecting = (expected: string) =>
      files.write('acme', id, 'file', Buffer.from('two'), { expected: Buffer.from(expected) });
    await assert.rejects(expecting('ONE'), { code: 'conflict' });
    assert.equal(String(await files.read('acme', id, 'file')), 'one');
    await expecting('one');
    await assert.rejects(expecting('one'), { code: 'conflict' });
    await files.delete('acme', id, 'file');
    await assert.rejects(expecting('two'), { code: 'not_found' });
    await assert.rejects(files.write('acme', id, 'no/where', Buffer.from(''), { expected: Buffer.from('') }), {
      ...{ code: 'not_found' },
    });
  });

  test('a write that replaces known content goes to the file that a link inside the volume names', async () => {
    const { id, directory } = await tree({ 'a/file': 'one' });
    await symlink('a/file', join(directory, 'link'));
    await setup.volumes.files.write('acme', id, 'link', Buffer.from('two'), { expected: Buffer.from('one') });
    assert.equal(String(await setup.volumes.files.read('acme', id, 'a/file')), 'two');
  });

  test('of many concurrent writes that replace known content exactly one succeeds', async () => {
    const { id } = await tree({ file: '0' });
    const expected = Buffer.from('0');
    const writes = Array.from({ length: 20 }, (_, index) =>
      setup.volumes.files.write('acme', id, 'file', Buffer.from(`w${index}`), { expected }),
    );
    const settled = await Promise.allSettled(writes);
    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
  });
});
