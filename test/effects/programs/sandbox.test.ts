import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Sandbox } from '../../../effects/programs/sandbox.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { type ProgramBench, programBench, recorded } from '../../support/program-bench.ts';
import { sandboxFor, skipWithout } from '../../support/sandbox.ts';

const MiB = 1_048_576;

describe('a program in the sandbox', { timeout: 90_000 }, () => {
  let bench: ProgramBench;
  let sandbox: Sandbox | null = null;
  let reason = '';
  let workspaces = '';
  before(async () => {
    ({ workspaces } = await programBench());
    await mkdir(workspaces, { recursive: true });
    ({ sandbox, reason } = await sandboxFor(workspaces));
    bench = await programBench({ workspaces, view: sandbox });
  });
  after(async () => {
    await bench?.close();
    await rm(dirname(workspaces), { recursive: true, force: true });
  });

  test('finds its workspace at /workspace, and its files are there for the node', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await bench.script(
      '#!/bin/sh\npwd; echo "$HOME"; echo kept > file; cat file; id -u; echo err >&2; exit 3\n',
    );
    const { stdout, stderr, exit_code } = await bench.run({ path });
    assert.deepEqual([stdout, stderr, exit_code], ['/workspace\n/workspace\nkept\n1000\n', 'err\n', 3]);
    assert.deepEqual(await recorded(workspaces), []);
  });

  test('is ended by TERM first, which it may heed, then by KILL', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const heeds = await bench.script(
      '#!/bin/sh\ntrap "echo heard; exit 7" TERM\necho begun; while :; do sleep 0.05; done\n',
    );
    const first = await bench.run({ path: heeds, limits: { timeout_ms: 1_000 } });
    assert.deepEqual([first.stdout, first.exit_code, first.timed_out], ['begun\nheard\n', 7, true]);
    const deaf = await bench.script('#!/bin/sh\ntrap "" TERM\nwhile :; do sleep 0.05; done\n');
    const second = await bench.run({ path: deaf, limits: { timeout_ms: 500 } });
    assert.deepEqual([second.timed_out, second.exit_code], [true, 137]);
  });

  test('that a signal ended says 128 and its number', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await bench.script('#!/bin/sh\nkill -SEGV $$\n');
    assert.equal((await bench.run({ path })).exit_code, 139);
  });

  test('that cannot be executed ends with 126 or 127', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await bench.script('#!/usr/bin/env no-such-program-here\n');
    assert.equal((await bench.run({ path })).exit_code, 127);
  });

  test('has the limits that it has without', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const eat = await bench.script(
      '#!/bin/sh\nx=$(head -c 60000000 /dev/zero | tr "\\0" x); y=$x$x; z=$x$x; sleep 60\n',
    );
    const limits = { timeout_ms: 20_000, memory_bytes: 100 * MiB };
    assert.equal((await bench.run({ path: eat, limits })).stopped_by, 'memory');
    const fork = await bench.script('#!/bin/sh\nwhile :; do sleep 300 & sleep 0.01; done\n');
    assert.equal(
      (await bench.run({ path: fork, limits: { timeout_ms: 20_000, processes: 20 } })).stopped_by,
      'processes',
    );
  });

  test('that is cancelled leaves nothing', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await bench.script('#!/bin/sh\necho begun; setsid sleep 300 & sleep 300\n');
    const stop = new AbortController();
    const progress = (): boolean => {
      stop.abort(new SvcError('cancelled'));
      return true;
    };
    await assert.rejects(bench.run({ path }, { signal: stop.signal, progress }), { code: 'cancelled' });
    assert.deepEqual(await recorded(workspaces), []);
  });

  test('under read_only writes nothing but its own /tmp', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = await bench.script('#!/bin/sh\necho x > /tmp/x && echo tmp; echo x > /workspace/x || exit 9\n');
    const { stdout, exit_code } = await bench.run({ path, rules: { network: 'closed', read_only: true } });
    assert.deepEqual([stdout, exit_code], ['tmp\n', 9]);
  });

  test('without a network reaches the dispatch gateway at its own loopback, and nothing else there', async (t) => {
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
    const [port, other] = [await portOf(answering), await portOf(hidden)];
    const own = await programBench({
      ...{ workspaces, view: sandbox },
      nodeVariables: async () => ({ variables: {}, secrets: [], listener: { host: '127.0.0.1', port } }),
    });
    const fetch = (to: number) =>
      `exec 5<>/dev/tcp/127.0.0.1/${to} && printf 'GET /x HTTP/1.0\\r\\n\\r\\n' >&5 && tail -n 1 <&5`;
    const path = await own.script(`#!/bin/bash\n(${fetch(port)}); echo; (${fetch(other)}) || echo closed\n`);
    const { stdout } = await own.run({ path });
    assert.equal(stdout, 'you asked /x\nclosed\n');
    answering.close();
    hidden.close();
    await own.close();
  });

  test('from the node’s data is not run', async (t) => {
    if (sandbox === null) return skipWithout(t, reason);
    const path = join(workspaces, 'theirs');
    await writeFile(path, '#!/bin/sh\necho ran\n', { mode: 0o755 });
    await assert.rejects(bench.run({ path }), { code: 'program_failed', message: /no program may see/ });
    assert.ok((await stat(path)).isFile());
    assert.match(await readFile(path, 'utf8'), /ran/);
  });

  test('is refused where nothing would enforce the rules of its manifest', async () => {
    const path = await bench.script('#!/bin/sh\n');
    const plain = await programBench();
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
