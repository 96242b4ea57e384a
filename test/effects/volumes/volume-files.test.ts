import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createVolumes } from '../../../effects/volumes/volumes.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { limitedFiles, smallFileSystem } from '../../support/small-disk.ts';
import { ACME, MiB, volumesUnderTest } from './volumes-under-test.ts';

const text = (value: string): Buffer => Buffer.from(value);

describe('files in a volume', () => {
  test('files in a volume are written, read, listed, shown and deleted, each with one event', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume();
    setup.named();
    assert.deepEqual(await files.write('acme', id, '/a/b/c.txt', text('one')), {
      ...{ path: '/a/b/c.txt', bytes_written: 3, created: true },
    });
    assert.equal((await files.write('acme', id, 'a/b/c.txt', text('three'))).created, false);
    assert.equal(String(await files.read('acme', id, '/a/b/c.txt')), 'three');
    await files.mkdir('acme', id, 'a/d');
    await files.mkdir('acme', id, 'a/d');
    const { entries } = await files.list('acme', id, 'a');
    assert.deepEqual(
      entries.map(({ name, kind }) => [name, kind]),
      [
        ['b', 'directory'],
        ['d', 'directory'],
      ],
    );
    const [file] = (await files.list('acme', id, 'a/b')).entries;
    assert.deepEqual({ ...file, modified_at: '' }, { name: 'c.txt', kind: 'file', size_bytes: 5, modified_at: '' });
    assert.ok(Date.parse(file?.modified_at ?? '') > 0);
    await assert.rejects(files.delete('acme', id, 'a'), { code: 'failed_precondition' });
    await files.delete('acme', id, 'a', { recursive: true });
    assert.deepEqual((await files.list('acme', id, '/')).entries, []);
    const events = [
      'FileCreated',
      'FileWritten',
      'FileRead',
      'FileCreated',
      'FileCreated',
      'DirectoryListed',
      'DirectoryListed',
    ];
    assert.deepEqual(setup.named(), [...events, 'FileDeleted', 'DirectoryListed']);
    assert.deepEqual(setup.events.at(-2)?.details, { directory: true });
  });

  test('errors name a path that is missing, no file, or too large to read at once', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume();
    const { directory } = await setup.volumes.open('acme', id);
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    await files.write('acme', id, 'file', text('12345'));
    await assert.rejects(files.read('acme', id, 'none'), { code: 'not_found' });
    await assert.rejects(files.read('acme', id, 'pipe'), { code: 'failed_precondition' });
    await assert.rejects(files.read('acme', id, '/'), { code: 'failed_precondition' });
    await assert.rejects(files.read('acme', id, 'file/below'), { code: 'failed_precondition' });
    await assert.rejects(files.read('acme', id, 'file', 4), { code: 'payload_too_large' });
    await assert.rejects(files.write('acme', id, 'a\0b', text('')), { code: 'invalid_argument' });
    await assert.rejects(files.write('acme', id, 'x'.repeat(256), text('')), { code: 'invalid_argument' });
    await assert.rejects(files.write('acme', id, '.svc-uploads/x', text('')), { code: 'invalid_argument' });
    await files.mkdir('acme', id, 'directory');
    await assert.rejects(files.write('acme', id, 'directory', text('')), { code: 'failed_precondition' });
  });

  test('another tenant sees no volume', async () => {
    await using setup = await volumesUnderTest();
    const id = await setup.volume();
    for (const tenant of ['other', '..', 'acme/..']) {
      await assert.rejects(setup.volumes.files.list(tenant, id, '/'), /volume not found|tenant must match/);
    }
    await assert.rejects(setup.volumes.open('other', id), { code: 'not_found' });
    await assert.rejects(setup.volumes.open('acme', '../other'), { code: 'not_found' });
  });
});

describe('nothing leads out of a volume', () => {
  test('the volume itself is a directory like any other, also over a link, and no attempt to leave it', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume();
    const { directory } = await setup.volumes.open('acme', id);
    await symlink('.', join(directory, 'top'));
    setup.named();
    for (const path of ['', '/', '.', 'top']) {
      await assert.rejects(files.read('acme', id, path), { code: 'failed_precondition' }, path);
      await assert.rejects(files.download('acme', id, path), { code: 'failed_precondition' }, path);
    }
    await assert.rejects(files.write('acme', id, '/', text('')), { code: 'failed_precondition' });
    await assert.rejects(files.delete('acme', id, '/', { recursive: true }), { code: 'failed_precondition' });
    assert.deepEqual(setup.named(), []);
  });

  test('.. is refused wherever it leads, and recorded', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume();
    setup.named();
    for (const path of ['../secret', 'a/../../secret', 'a/../b', '/..']) {
      await assert.rejects(files.read('acme', id, path), { code: 'forbidden' }, path);
    }
    assert.deepEqual(setup.named(), Array(4).fill('PathTraversalBlocked'));
    assert.equal(setup.events.at(-1)?.details.attempted_path, '/..');
  });

  test('links that a command made are followed inside the volume and nowhere else', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume();
    const { directory } = await setup.volumes.open('acme', id);
    await writeFile(join(setup.directory, 'secret'), 'no');
    await files.write('acme', id, 'real/file', text('yes'));
    await mkdir(join(directory, 'links'));
    for (const [name, target] of [
      ['inside', '../real'],
      ['file', '../real/file'],
      ['absolute', '/etc'],
      ['climb', '../../../../'],
      ['out', '../../../../secret'],
      ['self', 'self'],
      ['host', join(directory, 'real')],
    ] as const) {
      await symlink(target, join(directory, 'links', name));
    }
    assert.equal(String(await files.read('acme', id, 'links/inside/file')), 'yes');
    assert.equal(String(await files.read('acme', id, 'links/file')), 'yes');
    setup.named();
    for (const path of ['links/absolute/passwd', 'links/climb/secret', 'links/out', 'links/self', 'links/host/file']) {
      await assert.rejects(files.read('acme', id, path), { code: 'forbidden' }, path);
      await assert.rejects(files.write('acme', id, `${path}/x`, text('')), { code: 'forbidden' }, path);
      await assert.rejects(files.list('acme', id, path), { code: 'forbidden' }, path);
    }
    assert.deepEqual(new Set(setup.named()), new Set(['PathTraversalBlocked']));
    await files.write('acme', id, 'links/out', text('replaced the link'));
    assert.equal(await readFile(join(setup.directory, 'secret'), 'utf8'), 'no');
    await files.delete('acme', id, 'links', { recursive: true });
    assert.equal(String(await files.read('acme', id, 'real/file')), 'yes');
    assert.ok((await stat('/etc/passwd')).isFile());
  });

  test('a directory that becomes a link while files are written never leads out', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume();
    const { directory } = await setup.volumes.open('acme', id);
    const outside = join(setup.directory, 'outside');
    await mkdir(outside);
    const flip = `while :; do rm -rf d; mkdir d; rm -rf d; ln -s ${outside} d; done 2>/dev/null`;
    const flipper = spawn('/bin/sh', ['-c', flip], { cwd: directory, stdio: 'ignore' });
    try {
      for (let round = 0; round < 150; round += 1) {
        await files.write('acme', id, `d/f${round}`, text('x')).catch(() => {});
      }
    } finally {
      flipper.kill('SIGKILL');
    }
    assert.deepEqual(await readdir(outside), []);
  });
});

describe('size limits of files', () => {
  test('a file exactly at the limit is accepted, one byte more is not', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume(1_000);
    await files.write('acme', id, 'a', Buffer.alloc(600));
    await files.write('acme', id, 'b', Buffer.alloc(400));
    setup.named();
    await assert.rejects(files.write('acme', id, 'c', Buffer.alloc(1)), { code: 'quota_exceeded' });
    assert.deepEqual(setup.named(), ['QuotaExceeded']);
    await setup.volumes.checkQuota('acme', id);
    await files.write('acme', id, 'c', Buffer.alloc(0));
    await files.write('acme', id, 'b', Buffer.alloc(399));
    await files.write('acme', id, 'c', Buffer.alloc(1));
    await assert.rejects(files.write('acme', id, 'b', Buffer.alloc(400)), { code: 'quota_exceeded' });
    assert.equal((await files.read('acme', id, 'b')).length, 399);
    assert.equal((await setup.volumes.get('acme', id)).used_bytes, 1_000);
  });

  test('two concurrent writers never get the same space', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume(100_000);
    async function* slowly() {
      for (let piece = 0; piece < 6; piece += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        yield Buffer.alloc(10_000);
      }
    }
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((name) => files.write('acme', id, name, slowly())));
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected']);
    assert.equal((await setup.volumes.get('acme', id)).used_bytes, 60_000);
  });

  test('content that ends early or is refused leaves the file unchanged and nothing beside it', async () => {
    await using setup = await volumesUnderTest();
    const { files } = setup.volumes;
    const id = await setup.volume(1_000);
    await files.write('acme', id, 'a', text('old'));
    async function* broken() {
      yield text('new');
      throw new Error('the client disconnected');
    }
    await assert.rejects(files.write('acme', id, 'a', broken()), { code: 'internal' });
    await assert.rejects(files.write('acme', id, 'a', Buffer.alloc(2_000)), { code: 'quota_exceeded' });
    assert.equal(String(await files.read('acme', id, 'a')), 'old');
    assert.equal((await setup.volumes.get('acme', id)).used_bytes, 3);
    const { directory } = await setup.volumes.open('acme', id);
    assert.deepEqual(await readdir(join(directory, '.svc-uploads')), []);
  });

  test('a full disk is unavailable, not the volume’s limit, and has space again later', async (t) => {
    await using disk = (await smallFileSystem()) ?? (await limitedFiles());
    if (disk === null) return t.skip('neither a file system nor a limit can be made here');
    await using setup = await volumesUnderTest();
    const documents = new SqliteDocuments({ directory: join(setup.directory, 'more') });
    await documents.open();
    const volumes = await createVolumes({
      ...{ root: join(disk.directory, 'volumes'), documents, clock: setup.clock, warn: () => {} },
      random: systemRandom,
      limits: { defaultTtlHours: 1, defaultSizeLimitMb: 1_000, maxSizeLimitMb: 1_000 },
      ended: async () => true,
    });
    const { id } = await volumes.create(ACME, { name: 'v', storage_class: 'persistent' });
    await disk.fill(process.pid);
    await assert.rejects(volumes.files.write('acme', id, 'a', Buffer.alloc(MiB)), { code: 'unavailable' });
    await disk.free(process.pid);
    await volumes.files.write('acme', id, 'a', Buffer.alloc(MiB));
    await volumes.close();
    await documents.close();
  });
});
