import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { GroupWatch } from '../../../effects/programs/group-watch.ts';
import { ProgramLimits } from '../../../effects/programs/input.ts';
import { launch } from '../../../effects/programs/launch.ts';
import { candidates, openRunCgroups, type RunCgroups } from '../../../effects/programs/run-cgroup.ts';
import { followProgram } from '../../../effects/programs/supervise.ts';
import { alive, type ProgramsUnderTest, programsUnderTest } from '../../support/program-under-test.ts';
import { waitUntil } from '../../support/wait-until.ts';

const LIMIT = 24;
/** Processes around a program: the launcher, the mount namespace and the guard. */
const WRAPPERS = 3;
/** Doubles seven times: at most 255 processes, with or without the limit. */
const BOMB = `#!/bin/sh
b() { if [ "$1" -gt 0 ]; then b $(($1 - 1)) & b $(($1 - 1)) & fi; sleep 600; }
b 7
`;
/**
 * Each process leaves the group of its parent with an empty environment: only the process tree, or the control group,
 * shows to which run it belongs.
 */
const SCATTERED = `#!/bin/sh
i=0
while [ $i -lt 200 ]; do env -i setsid /bin/sleep "$MARK" & i=$((i + 1)); done
wait
`;

/** Whether a process has a text in its command line or environment; a process that is being reaped has none. */
function isMarked(pid: number, mark: string): boolean {
  const has = (file: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  };
  return has('environ') || has('cmdline');
}

const found = (mark: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isMarked(pid, mark));

/**
 * The highest number of concurrent processes with the text, until stopped. A look takes a while, and meanwhile some end
 * and others start: those that still exist after it existed at the same time.
 */
function highest(mark: string): () => number {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, found(mark).filter((pid) => isMarked(pid, mark)).length);
  }, 10);
  return () => {
    clearInterval(timer);
    return most;
  };
}

describe('processes of a run', { timeout: 400_000, skip: process.platform !== 'linux' && 'needs Linux' }, () => {
  let setup: ProgramsUnderTest;
  let cgroups: RunCgroups | null;
  before(async () => {
    cgroups = await openRunCgroups();
    setup = await programsUnderTest();
  });
  after(() => setup.close());

  for (const [title, source] of [
    ['a fork bomb', BOMB],
    ['processes that leave their group and environment', SCATTERED],
  ] as const) {
    test(`${title} has at most the limit of processes and its wrappers, and leaves none`, async (t) => {
      if (cgroups === null) return t.skip('NO CONTROL GROUPS HERE: the bound is only sampled');
      const mark = `${7_000_000_000 + Math.trunc(Math.random() * 1e9)}`;
      const path = await setup.script(source);
      const most = highest(mark);
      const result = await setup.run({ path, env: { MARK: mark }, limits: { timeout_ms: 60_000, processes: LIMIT } });
      const peak = most();
      assert.equal(result.stopped_by, 'processes');
      assert.ok(peak <= LIMIT + WRAPPERS, `${peak} processes at once`);
      assert.deepEqual(found(mark), []);
    });
  }

  test('the operating system enforces the bound: a program gets an error for each process over it', async (t) => {
    if (cgroups === null) return t.skip('NO CONTROL GROUPS HERE');
    const path = await setup.script('#!/bin/sh\ni=0; while [ $i -lt 60 ]; do sleep 600 & i=$((i + 1)); done\n');
    const result = await setup.run({ path, limits: { timeout_ms: 60_000, processes: LIMIT } });
    assert.equal(result.stopped_by, 'processes');
    const within = await setup.script('#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8; do sleep 0.01 & done; wait; echo fine\n');
    const fine = await setup.run({ path: within, limits: { timeout_ms: 60_000, processes: LIMIT } });
    assert.deepEqual([fine.stdout, fine.stopped_by], ['fine\n', undefined]);
  });

  test('a daemon that left its group, its parent and its mark ends with its run', async (t) => {
    if (cgroups === null) return t.skip('NO CONTROL GROUPS HERE: such a daemon outlives its run');
    const mark = `${6_000_000_000 + Math.trunc(Math.random() * 1e9)}`;
    const path = await setup.script(
      `#!/bin/sh\nenv -i setsid sh -c 'sleep ${mark} & sleep 0.05' >/dev/null 2>&1 &\nsleep 0.3; echo\n`,
    );
    await setup.run({ path });
    assert.deepEqual(found(mark), []);
  });

  test('a run and its group end together; one that a crash left is ended by its mark', async (t) => {
    if (cgroups === null) return t.skip('NO CONTROL GROUPS HERE');
    const run = randomUUID();
    const { entry } = await cgroups.open(run, 4);
    const script = 'echo $$ > "$1"; exec setsid sleep 600';
    const child = spawn('/bin/sh', ['-c', script, 'svc-left', entry], { stdio: 'ignore', env: {} });
    await waitUntil('it is in its group', () => readFileSync(entry, 'utf8').trim() !== '');
    const ended = once(child, 'exit');
    await cgroups.end(run);
    await ended;
    assert.ok(child.pid !== undefined && !(await alive(child.pid)));
    assert.throws(() => readFileSync(entry), { code: 'ENOENT' });
    await cgroups.end(run);
  });

  test('without control groups the process tree is stopped, then killed, also processes that left the group', async () => {
    const mark = `${8_000_000_000 + Math.trunc(Math.random() * 1e9)}`;
    const limits = ProgramLimits.parse({ timeout_ms: 60_000, processes: LIMIT });
    const path = await setup.script(SCATTERED.replace('i=$((i + 1))', 'i=$((i + 1)); sleep 0.01'));
    // Without the mark of a run there is no control group.
    const environment = { PATH: '/usr/bin:/bin', MARK: mark };
    const program = await launch({ program: path, args: [], directory: setup.directory, environment, limits });
    assert.equal(program.refused, undefined);
    const most = highest(mark);
    const result = await followProgram(program, {
      ...{ limits, watch: new GroupWatch(), killGraceMs: 200, secrets: [], onText: () => {} },
      stop: new AbortController().signal,
    });
    assert.equal(result.stopped_by, 'processes');
    await waitUntil('all of them are gone', () => found(mark).length === 0);
    assert.ok(most() < 200, 'it was ended before it had all processes');
  });

  test('control groups are made below the node’s own in either version, and at the top in a container', () => {
    const own = '8:pids:/a/b\n4:memory:/m\n0::/\n';
    const exists = (path: string) => !path.endsWith('/gone');
    assert.deepEqual(candidates(own, exists), ['/sys/fs/cgroup/pids/a/b', '/sys/fs/cgroup']);
    const service = ['/sys/fs/cgroup/system.slice/svc.service'];
    assert.deepEqual(candidates('0::/system.slice/svc.service\n', exists), service);
    assert.deepEqual(candidates('3:cpu,pids:/docker/gone\n', exists), ['/sys/fs/cgroup/pids']);
    assert.deepEqual(candidates('', exists), []);
  });

  test('descriptors that the node inherited do not reach a program', async () => {
    const secret = openSync(join(setup.directory, 'secret'), 'w+', 0o600);
    const script = await setup.script('#!/bin/sh\nls -l /proc/self/fd\n');
    // The node is a separate process, which inherits 57 and 200 from this one.
    const given = new Set([57, 200]);
    const stdio = Array.from({ length: 201 }, (_, at) => (at === 1 ? 'pipe' : given.has(at) ? secret : 'ignore'));
    const program = join(import.meta.dirname, 'inherited-node.ts');
    const child = spawn(process.execPath, [program, setup.workspaces, script], { stdio });
    assert.ok(child.stdout !== null);
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    closeSync(secret);
    assert.match(output, / 1 -> /, 'it prints the open descriptors');
    assert.doesNotMatch(output, /secret/);
    for (const fd of given) assert.match(output, new RegExp(` ${fd} -> /dev/null`));
  });
});
