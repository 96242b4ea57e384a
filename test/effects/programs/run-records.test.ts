import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import { endLeftovers, recordRun } from '../../../effects/programs/leftovers.ts';
import { smallFileSystem } from '../../support/small-disk.ts';

/** Takes each page that becomes free, like the log of a node. */
const TAKER = `
const file = require('node:fs').openSync(process.argv[1], 'a');
process.stdout.write('up');
for (;;) try { require('node:fs').writeSync(file, Buffer.alloc(4096)); } catch {}
`;
const TIMES = 200;

test('a disk that becomes full after the start of a program still takes its process group', async (context) => {
  const disk = await smallFileSystem();
  if (disk === null) return context.skip('no file system can be mounted by this user');
  await using held = disk;
  const run = randomUUID();
  await recordRun(held.directory, run);
  await held.fill(process.pid);
  const taker = spawn(process.execPath, ['-e', TAKER, `${held.directory}/log`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(taker.stdout, 'data');
  const program = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
  assert.ok(program.pid !== undefined);
  const ended = once(program, 'exit');
  try {
    for (let time = 0; time < TIMES; time += 1) await recordRun(held.directory, run, program.pid);
  } finally {
    taker.kill('SIGKILL');
    await held.free(process.pid);
    // The group is in the record: its process has no mark in its environment by which it could be found.
    await endLeftovers(held.directory);
    program.kill('SIGKILL');
  }
  assert.deepEqual(await ended, [null, 'SIGKILL']);
});
