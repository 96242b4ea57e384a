import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Sandbox } from '../../../effects/programs/sandbox.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { type ProgramsUnderTest, programsUnderTest, recorded } from '../../support/program-under-test.ts';
import { sandboxFor, skipWithout } from '../../support/sandbox.ts';

const MiB = 1_048_576;
/** An ordinary user without files here. */
const OTHER_USER = 64_321;
const needsRoot = { skip: process.getuid?.() === 0 ? false : 'only a node of root has programs of other users' };

describe('a program in the sandbox', { timeout: 400_000 }, () => {
  let setup: ProgramsUnderTest;
  let sandbox: Sandbox | null = null;
  let reason = '';
  let workspaces = '';
  before(async () => {
    ({ workspaces } = await programsUnderTest());
    await mkdir(workspaces, { recursive: true });
    ({ sandbox, reason } = await sandboxFor(workspaces));
    setup = await programsUnderTest({ workspaces, view: sandbox });
  });
  after(async () => {
    await setup?.close();
    await rm(dirname(workspaces), { recursive: true, force: true });
  });

  test('a sandboxed program finds its workspace at /workspace, and the node can read its files', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await setup.script(
      '#!/bin/sh\npwd; echo "$HOME"; echo kept > file; cat file; id -u; echo err >&2; exit 3\n',
    );
    const { stdout, stderr, exit_code } = await setup.run({ path });
    assert.deepEqual([stdout, stderr, exit_code], ['/workspace\n/workspace\nkept\n1000\n', 'err\n', 3]);
    assert.deepEqual(await recorded(workspaces), []);
  });

  test('a sandboxed program is ended by TERM first, which it may handle, then by KILL', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const heeds = await setup.script(
      '#!/bin/sh\ntrap "echo stopping; exit 7" TERM\necho begun; while :; do sleep 0.05; done\n',
    );
    const first = await setup.run({ path: heeds, limits: { timeout_ms: 4_000 } });
    assert.deepEqual([first.stdout, first.exit_code, first.timed_out], ['begun\nstopping\n', 7, true]);
    const deaf = await setup.script('#!/bin/sh\ntrap "" TERM\nwhile :; do sleep 0.05; done\n');
    const second = await setup.run({ path: deaf, limits: { timeout_ms: 2_000 } });
    assert.deepEqual([second.timed_out, second.exit_code], [true, 137]);
  });

  test('a sandboxed program that a signal ended reports 128 and its number', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await setup.script('#!/bin/sh\nkill -SEGV $$\n');
    assert.equal((await setup.run({ path })).exit_code, 139);
  });

  test('a sandboxed program that cannot be executed ends with 126 or 127', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await setup.script('#!/usr/bin/env no-such-program-here\n');
    assert.equal((await setup.run({ path })).exit_code, 127);
  });

  test('a sandboxed program has the same limits as one without a sandbox', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const eat = await setup.script(
      '#!/bin/sh\nx=$(head -c 60000000 /dev/zero | tr "\\0" x); y=$x$x; z=$x$x; sleep 60\n',
    );
    const limits = { timeout_ms: 60_000, memory_bytes: 100 * MiB };
    assert.equal((await setup.run({ path: eat, limits })).stopped_by, 'memory');
    const fork = await setup.script('#!/bin/sh\nwhile :; do sleep 300 & sleep 0.01; done\n');
    assert.equal(
      (await setup.run({ path: fork, limits: { timeout_ms: 60_000, processes: 20 } })).stopped_by,
      'processes',
    );
  });

  test('a sandboxed program that is cancelled leaves nothing', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await setup.script('#!/bin/sh\necho begun; setsid sleep 300 & sleep 300\n');
    const stop = new AbortController();
    const progress = (): boolean => {
      stop.abort(new SvcError('cancelled'));
      return true;
    };
    await assert.rejects(setup.run({ path }, { signal: stop.signal, progress }), { code: 'cancelled' });
    assert.deepEqual(await recorded(workspaces), []);
  });

  test(
    'a sandboxed program works with files that a program of another user left, also private ones',
    needsRoot,
    async (t) => {
      if (sandbox === null) return skipWithout(t, reason);
      const { sandbox: other } = await sandboxFor(workspaces, { user: '2001:2002' });
      const benches = { 1000: setup, 2001: await programsUnderTest({ workspaces, view: other }) } as const;
      const said: string[] = [];
      for (const uid of [1000, 2001, 1000] as const) {
        const path = await benches[uid].script(
          '#!/bin/sh\numask 077\nmkdir -p own && id -u | tee -a own/log && cat of-the-node; mv own/log own/moved && mv own/moved own/log\n',
        );
        const { stdout, stderr, exit_code } = await benches[uid].run({ path, execution_id: 'handed' });
        said.push(stdout);
        assert.equal(exit_code, 0, stderr);
        // As a tool of the node writes.
        const file = join(workspaces, 'acme/handed/of-the-node');
        await rm(file, { force: true });
        await writeFile(file, `seen by the one after ${uid}\n`, { mode: 0o600 });
      }
      const log = await readFile(join(workspaces, 'acme/handed/own/log'), 'utf8');
      assert.equal(log, '1000\n2001\n1000\n');
      assert.deepEqual(said.slice(1), ['2001\nseen by the one after 1000\n', '1000\nseen by the one after 2001\n']);
      await benches[2001].close();
    },
  );

  test('under read_only a sandboxed program writes only to its own /tmp', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await setup.script('#!/bin/sh\necho x > /tmp/x && echo tmp; echo x > /workspace/x || exit 9\n');
    const { stdout, exit_code } = await setup.run({ path, rules: { network: 'closed', read_only: true } });
    assert.deepEqual([stdout, exit_code], ['tmp\n', 9]);
  });

  test('without a network a sandboxed program reaches the dispatch gateway at its own loopback, and nothing else there', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const answering = createServer((request, response) => response.end(`you asked ${request.url}`));
    const hidden = createServer((_request, response) => response.end('hidden'));
    const portOf = (server: typeof hidden): Promise<number> =>
      new Promise((resolve) =>
        server.listen(0, '127.0.0.1', () => {
          const address = server.address();
          resolve(typeof address === 'object' && address !== null ? address.port : 0);
        }),
      );
    t.after(() => {
      answering.close();
      hidden.close();
    });
    const [port, other] = [await portOf(answering), await portOf(hidden)];
    const own = await programsUnderTest({
      ...{ workspaces, view: sandbox },
      nodeVariables: async () => ({
        variables: {},
        secrets: [],
        listener: { port, accept: (connection) => answering.emit('connection', connection) },
      }),
    });
    const fetch = (to: number) =>
      `exec 5<>/dev/tcp/127.0.0.1/${to} && printf 'GET /x HTTP/1.0\\r\\n\\r\\n' >&5 && tail -n 1 <&5`;
    const path = await own.script(`#!/bin/bash\n(${fetch(port)}); echo; (${fetch(other)}) || echo closed\n`);
    const { stdout } = await own.run({ path });
    assert.equal(stdout, 'you asked /x\nclosed\n');
    await own.close();
  });

  test('without a network a sandboxed program has at most 64 connections to the gateway at a time', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    let accepted = 0;
    const accept = (connection: Socket): void => {
      accepted += 1;
      connection.on('error', () => connection.destroy());
      connection.end('x\n');
    };
    const own = await programsUnderTest({
      ...{ workspaces, view: sandbox },
      nodeVariables: async () => ({ variables: {}, secrets: [], listener: { port: 8_081, accept } }),
    });
    // Each is read to see its end, and stays open on this side.
    const path = await own.script(
      '#!/bin/bash\nfor _ in $(seq 100); do exec {to}<>/dev/tcp/127.0.0.1/8081; read -r line <&$to && echo $line; done | grep -c x\n',
    );
    const { stdout } = await own.run({ path });
    assert.deepEqual([stdout, accepted], ['64\n', 64]);
    await own.close();
  });

  test(
    'a sandboxed program reaches the gateway also on a node of an ordinary user, and has devices but no terminals',
    needsRoot,
    async (t) => {
      if (sandbox === null) return skipWithout(t, reason);
      const own = await mkdtemp(join(tmpdir(), 'svc-ordinary-'));
      t.after(() => rm(own, { recursive: true, force: true }));
      await chown(own, OTHER_USER, OTHER_USER);
      const become = [`--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, '--clear-groups'];
      const node = [process.execPath, join(import.meta.dirname, 'ordinary-node.ts'), own];
      const { stdout, stderr } = await promisify(execFile)('setpriv', [...become, ...node], { timeout: 30_000 });
      assert.deepEqual(stdout.split('\n').slice(0, 2), ['the gateway', 'fd'], stderr);
      assert.deepEqual(/^(pts|ptmx)$/m.exec(stdout), null);
    },
  );

  test('a program in the node’s data directory is not run', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = join(workspaces, 'theirs');
    await writeFile(path, '#!/bin/sh\necho ran\n', { mode: 0o755 });
    await assert.rejects(setup.run({ path }), { code: 'program_failed', message: /no program may see/ });
    assert.ok((await stat(path)).isFile());
    assert.match(await readFile(path, 'utf8'), /ran/);
  });

  test('a program is refused where nothing would enforce the rules of its manifest', async () => {
    const path = await setup.script('#!/bin/sh\n');
    const plain = await programsUnderTest();
    for (const rules of [
      { network: 'none', read_only: false },
      { network: 'closed', read_only: true },
    ] as const) {
      await assert.rejects(plain.run({ path, rules }), { code: 'unsupported_isolation', message: /spec\.security\./ });
    }
    assert.equal((await plain.run({ path, rules: { network: 'closed', read_only: false } })).exit_code, 0);
    await plain.close();
  });
});
