import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { DiskWatch, tryingIn } from '../../../runtime/sqlite/disk-watch.ts';
import { HandClock, settled } from '../../support/hand-clock.ts';

/** A disk that is full when the test says so. */
function watched() {
  const clock = new HandClock();
  const disk = { isFull: false, tries: 0, warnings: [] as string[] };
  const watch = new DiskWatch({
    clock,
    tryToWrite: async () => {
      disk.tries += 1;
      if (disk.isFull) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    },
    warn: (message) => disk.warnings.push(message),
  });
  return { clock, disk, watch };
}

test('one write that failed is no reason to say that nothing can be stored, when the next one has room', async () => {
  const { disk, watch } = watched();
  watch.failed();
  await settled();
  assert.equal(disk.tries, 1);
  assert.deepEqual([watch.refusal, disk.warnings], [null, []]);
  watch.failed();
  await settled();
  assert.equal(disk.tries, 2);
  assert.equal(watch.refusal, null);
});

test('while nothing can be stored it says so, tries each second without a call, and ends when there is room', async () => {
  const { clock, disk, watch } = watched();
  disk.isFull = true;
  for (let writes = 0; writes < 100; writes += 1) watch.failed();
  await settled();
  assert.notEqual(watch.refusal, null);
  assert.equal(disk.tries, 1, 'one try for all writes that failed');
  for (let seconds = 1; seconds <= 3; seconds += 1) {
    await clock.pass(1_000);
    assert.equal(disk.tries, 1 + seconds);
    assert.match(watch.refusal ?? '', /^nothing can be stored, .*ENOSPC/);
  }
  disk.isFull = false;
  await clock.pass(1_000);
  assert.equal(watch.refusal, null);
  assert.deepEqual(disk.warnings.length, 2, 'one line at the begin, one at the end');
  await clock.pass(10_000);
  assert.equal(disk.tries, 5);
});

test('a closed watch tries nothing more', async () => {
  const { clock, disk, watch } = watched();
  disk.isFull = true;
  watch.failed();
  await settled();
  assert.notEqual(watch.refusal, null);
  watch.close();
  await clock.pass(10_000);
  watch.failed();
  assert.equal(disk.tries, 1);
});

test('a try leaves no file, and a commit that fails is the reason', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-disk-watch-'));
  t.after(() => rm(folder, { recursive: true }));
  let commits = 0;
  const commit = async (): Promise<void> => {
    commits += 1;
  };
  await tryingIn(folder, commit)();
  assert.deepEqual([commits, await readdir(folder)], [1, []]);
  const failing = tryingIn(folder, () => Promise.reject(new SvcError('unavailable', 'the data file cannot be used')));
  await assert.rejects(failing(), /the data file cannot be used/);
  await assert.rejects(tryingIn(join(folder, 'missing'), async () => {})(), { code: 'ENOENT' });
});
