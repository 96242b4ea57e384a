import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { endLeftovers } from '../../../effects/programs/leftovers.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { alive, type ProgramsUnderTest, programsUnderTest, recorded } from '../../support/program-under-test.ts';

const MiB = 1024 * 1024;
/** Prints its process id and those of two generations below it, and waits. */
const FAMILY = `#!/bin/sh
sh -c 'echo $$; sh -c "echo \\$\\$; exec sleep 300" & wait' &
echo $$
wait
`;
/** Like FAMILY, but all ignore TERM and one process leaves the group. */
const STUBBORN = `#!/bin/sh
trap '' TERM
echo $$
setsid sh -c 'echo $$; while :; do sleep 300; done' &
while :; do sleep 300; done
`;

async function gone(pids: readonly number[]): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (const pid of pids) {
    while (await alive(pid)) {
      if (Date.now() > deadline) throw new Error(`process ${pid} still runs after 20 s`);
      await pause(10);
    }
  }
}

/** Collects process ids from progress; resolves when `count` have come. */
function pidReader(count: number) {
  const { promise, resolve } = Promise.withResolvers<number[]>();
  let text = '';
  const progress = (value: Json): boolean => {
    if (typeof value === 'object' && value !== null && 'text' in value) text += String(value.text);
    const pids = text.trim().split('\n').map(Number);
    if (pids.length >= count) resolve(pids);
    return true;
  };
  return { progress, pids: promise };
}

describe('the end of program.run', { timeout: 400_000 }, () => {
  let setup: ProgramsUnderTest;
  before(async () => {
    setup = await programsUnderTest();
  });
  after(() => setup.close());

  test('a program over its timeout is ended and the result says so', async () => {
    const path = await setup.script('#!/bin/sh\necho begun; exec sleep 300\n');
    const result = await setup.run({ path, limits: { timeout_ms: 3_000 } });
    assert.deepEqual([result.timed_out, result.stopped_by, result.signal], [true, 'timeout', 'SIGTERM']);
    assert.deepEqual([result.exit_code, result.stdout], [143, 'begun\n']);
    assert.ok(result.duration_ms < 30_000);
  });

  test('a program that ignores TERM gets KILL after the grace time', async () => {
    const path = await setup.script("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.1; done\n");
    const result = await setup.run({ path, limits: { timeout_ms: 2_000 } });
    assert.deepEqual([result.timed_out, result.signal, result.exit_code], [true, 'SIGKILL', 137]);
  });

  for (const [what, text, count] of [
    ['its children and grandchildren', FAMILY, 3],
    ['what ignores TERM or has left its group', STUBBORN, 2],
  ] as const) {
    test(`a cancel ends a program with ${what}`, async () => {
      const path = await setup.script(text);
      const stop = new AbortController();
      const { progress, pids } = pidReader(count);
      const run = setup.run({ path }, { signal: stop.signal, progress });
      const running = await pids;
      stop.abort(new SvcError('cancelled'));
      await assert.rejects(run, { code: 'cancelled' });
      await gone(running);
      assert.deepEqual(await recorded(setup.workspaces), []);
    });
  }

  test('processes that a program leaves behind end with it', async () => {
    const path = await setup.script('#!/bin/sh\nsleep 300 & echo $!\nsetsid sleep 300 & echo $!\n');
    const result = await setup.run({ path });
    assert.equal(result.exit_code, 0);
    await gone(result.stdout.trim().split('\n').map(Number));
  });

  test('a program whose progress is no longer wanted is ended', async () => {
    const path = await setup.script('#!/bin/sh\necho x; exec sleep 300\n');
    await assert.rejects(setup.run({ path }, { progress: () => false }), { code: 'cancelled' });
  });

  test('a program over its memory limit is killed; its children count', async () => {
    // Neither process is over the limit alone, and neither grows until the system ends it.
    const eat = 'const held = Buffer.alloc(200 * 1024 * 1024, 1); setInterval(() => held[0], 1_000)';
    const path = await setup.script(`#!/bin/sh\nnode -e '${eat}' &\nnode -e '${eat}' &\nwait\n`);
    const result = await setup.run({ path, limits: { timeout_ms: 60_000, memory_bytes: 300 * MiB } });
    assert.deepEqual([result.stopped_by, result.signal, result.timed_out], ['memory', 'SIGKILL', false]);
  });

  test('a program that forks without end is killed', async () => {
    const path = await setup.script('#!/bin/sh\nwhile :; do sleep 300 & sleep 0.01; done\n');
    const result = await setup.run({ path, limits: { timeout_ms: 60_000, processes: 20 } });
    assert.equal(result.stopped_by, 'processes');
  });

  test('processor time, file size and core dumps are limited', async () => {
    const spin = await setup.script('#!/bin/sh\nwhile :; do :; done\n');
    const limits = { timeout_ms: 100_000, cpu_millicores: 10 };
    assert.equal((await setup.run({ path: spin, limits })).signal, 'SIGXCPU');
    const write = await setup.script(
      '#!/bin/sh\nulimit -c; ulimit -n\nhead -c 100000 /dev/zero > big\nls -l big | wc -l\n',
    );
    const wrote = await setup.run({ path: write, limits: { timeout_ms: 30_000, file_bytes: 4_096, open_files: 64 } });
    assert.equal(wrote.stdout, '0\n64\n1\n');
    assert.match(wrote.stderr, /limit exceeded|File too large/i);
  });

  for (const [what, text, count, guarded] of [
    ['its whole group', FAMILY, 3, true],
    ['also, at the next start, what had left its group', STUBBORN, 2, false],
  ] as const) {
    test(`the program of a node killed with SIGKILL ends too: ${what}`, async () => {
      const path = await setup.script(text);
      const node = fork(new URL('../../support/program-node.ts', import.meta.url), [setup.workspaces, path]);
      const { progress, pids } = pidReader(count);
      node.on('message', progress);
      const running = await pids;
      assert.equal((await recorded(setup.workspaces)).length, 1);
      node.kill('SIGKILL');
      await once(node, 'exit');
      if (guarded) await gone(running);
      assert.equal(await endLeftovers(setup.workspaces), 1);
      await gone(running);
      assert.deepEqual(await recorded(setup.workspaces), []);
    });
  }
});
