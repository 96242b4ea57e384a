import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ProgramInput } from '../../../effects/programs/input.ts';
import { removeWorkspace } from '../../../effects/programs/workspace.ts';
import type { Json } from '../../../runtime/json.ts';
import { type ProgramsUnderTest, programsUnderTest, recorded, SECRETS } from '../../support/program-under-test.ts';
import { GIT_NAMES } from '../../support/sandbox.ts';

describe('program.run', { timeout: 300_000 }, () => {
  let setup: ProgramsUnderTest;
  before(async () => {
    setup = await programsUnderTest();
  });
  after(() => setup.close());

  test('a program gets its arguments as they are and its output, exit code and time come back', async () => {
    const path = await setup.script('#!/bin/sh\nfor a in "$@"; do echo "<$a>"; done\necho oops >&2\nexit 3\n');
    const args = ['two words', '$(id)', "'; rm -rf /", '', 'ünïcode'];
    const result = await setup.run({ path, args });
    assert.equal(result.stdout, args.map((arg) => `<${arg}>\n`).join(''));
    assert.equal(result.stderr, 'oops\n');
    assert.equal(result.exit_code, 3);
    assert.equal(result.timed_out, false);
    assert.equal(result.signal, undefined);
    assert.deepEqual(await recorded(setup.workspaces), []);
  });

  test('a relative path starts at the base directory', async () => {
    const path = await setup.script('#!/bin/sh\necho here\n');
    assert.equal((await setup.run({ path: path.slice(setup.directory.length + 1) })).stdout, 'here\n');
  });

  test('a program sees nothing of the node: no variable, no input, no other descriptor', async () => {
    process.env.SVC_TEST_LEAK = 'leak';
    const path = await setup.script('#!/bin/sh\nenv\necho "in: $(cat)"\nls /proc/self/fd | tr "\\n" " "\n');
    const { stdout } = await setup.run({ path, env: { GIVEN: 'yes', TEXT: 'literal:secret:x', HOST: 'env:HOME' } });
    delete process.env.SVC_TEST_LEAK;
    const names = stdout
      .split('\n')
      .filter((line) => /^\w+=/.test(line))
      .map((line) => line.split('=')[0]);
    const shell = ['PWD', 'OLDPWD', 'SHLVL', '_'];
    assert.deepEqual(names.filter((name) => !shell.includes(name ?? '')).sort(), [
      ...[...GIT_NAMES, 'GIVEN', 'HOME', 'HOST', 'LANG', 'PATH', 'SVC_PROGRAM_RUN', 'TEXT', 'TMPDIR'].sort(),
    ]);
    assert.match(stdout, /^TEXT=secret:x$/m);
    assert.match(stdout, /^HOST=env:HOME$/m);
    assert.match(stdout, /^in: $/m);
    // 3 is the listing itself; descriptors that this process inherited do not come from the node.
    const descriptors = stdout.split('\n').at(-1)?.trim().split(' ') ?? [];
    const inherited = await readdir('/proc/self/fd');
    assert.deepEqual(
      descriptors.filter((fd) => Number(fd) < 100 || !inherited.includes(fd)),
      ['0', '1', '2', '3'],
    );
  });

  test('a program works in a private workspace that is kept until it is removed', async () => {
    const path = await setup.script('#!/bin/sh\npwd; echo "$HOME"; echo kept > file; cat file; mktemp\n');
    const { stdout } = await setup.run({ path, execution_id: 'w1' });
    const workspace = join(setup.workspaces, 'acme', 'w1');
    const [cwd, home, kept, temporary] = stdout.split('\n');
    assert.deepEqual([cwd, home, kept], [workspace, workspace, 'kept']);
    assert.ok(temporary?.startsWith(`${workspace}/`));
    assert.equal((await stat(workspace)).mode & 0o777, 0o700);
    assert.equal((await stat(join(workspace, 'file'))).mode & 0o077, 0);
    await removeWorkspace(setup.workspaces, 'acme', 'w1');
    await assert.rejects(stat(workspace), { code: 'ENOENT' });
    await removeWorkspace(setup.workspaces, 'acme', 'w1');
    await assert.rejects(removeWorkspace(setup.workspaces, '..', 'w1'), { code: 'invalid_argument' });
  });

  test('secrets are looked up for the program and never leave it', async () => {
    const path = await setup.script(
      '#!/bin/sh\nprintf "%s %s|" "$KEY" "$REGION"; printf hunter2-; sleep 0.1; printf very-secret; echo "$KEY" >&2\n',
    );
    const chunks: Json[] = [];
    const progress = (value: Json) => chunks.push(value) > 0;
    const result = await setup.run({ path, env: { KEY: 'secret:KEY', REGION: 'config:REGION' } }, { progress });
    assert.equal(result.stdout, '[redacted] eu-north|[redacted]');
    assert.equal(result.stderr, '[redacted]\n');
    assert.ok(!JSON.stringify([result, chunks]).includes(String(SECRETS['secret:KEY'])));
    await assert.rejects(setup.run({ path, env: { KEY: 'secret:NONE' } }), { code: 'failed_precondition' });
  });

  test('output comes as progress while it runs, in order and whole characters', async () => {
    const path = await setup.script('#!/bin/sh\nprintf "a\\303"; sleep 0.2; printf "\\274b"; sleep 0.2; echo c\n');
    const chunks: string[] = [];
    const progress = (value: Json) => {
      assert.ok(typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string');
      chunks.push(value.text);
      return true;
    };
    const result = await setup.run({ path }, { progress });
    assert.equal(result.stdout, 'aüb'.concat('c\n'));
    assert.deepEqual(chunks, ['a', 'üb', 'c\n']);
  });

  test('output beyond the limit is cut, says so, and does not block the program', async () => {
    const path = await setup.script('#!/bin/sh\nhead -c 10000000 /dev/zero | tr "\\0" x\necho done >&2\n');
    const result = await setup.run({ path });
    assert.equal(result.stdout.length, 1024 * 1024);
    assert.deepEqual([result.stdout_truncated, result.stderr_truncated], [true, false]);
    assert.deepEqual([result.exit_code, result.stderr], [0, 'done\n']);
    const wide = await setup.script('#!/bin/sh\nprintf "üüü"\n');
    const cut = await setup.run({ path: wide, limits: { timeout_ms: 30_000, output_bytes: 5 } });
    assert.equal(cut.stdout, 'üü');
  });

  test('binary output becomes text', async () => {
    const path = await setup.script('#!/bin/sh\nhead -c 4096 /dev/urandom; printf "\\377\\376"\n');
    const result = await setup.run({ path });
    assert.equal(JSON.parse(JSON.stringify(result)).stdout, result.stdout);
    assert.ok(result.stdout.endsWith('\ufffd\ufffd'));
  });

  test('a Node program runs within a memory limit', async () => {
    const path = await setup.script('#!/usr/bin/env node\nconsole.log(process.versions.node)\n');
    const result = await setup.run({ path, limits: { timeout_ms: 60_000, memory_bytes: 512 * 1024 * 1024 } });
    assert.deepEqual([result.stderr, result.stdout], ['', `${process.versions.node}\n`]);
  });

  test('a tenant without host commands is refused', async () => {
    const path = await setup.script('#!/bin/sh\necho no\n');
    await assert.rejects(setup.run({ path }, { tenant: 'other' }), { code: 'forbidden' });
  });

  test('the error of a program that cannot start has the reason', async () => {
    const plain = join(setup.directory, 'plain');
    await writeFile(plain, '#!/bin/sh\n');
    const folder = join(setup.directory, 'folder');
    await mkdir(folder);
    const orphan = await setup.script('#!/no/such/interpreter\n');
    for (const [path, message] of [
      [join(setup.directory, 'none'), /does not exist/],
      [plain, /not executable/],
      [folder, /not a file/],
      [orphan, /interpreter \/no\/such\/interpreter .* does not exist/],
    ] as const) {
      await assert.rejects(setup.run({ path }), { code: 'program_failed', message });
    }
    const args = Array.from({ length: 40 }, () => 'x'.repeat(130_000));
    const path = await setup.script('#!/bin/sh\n');
    await assert.rejects(setup.run({ path, args }), {
      code: 'program_failed',
      message: /exceed the limit of the system/,
    });
    assert.deepEqual(await recorded(setup.workspaces), []);
    await chmod(plain, 0o644);
  });

  test('input that could leave the directory or the environment of the program is refused', () => {
    const good = { path: 'p', args: [], env: {}, execution_id: 'e1', limits: { timeout_ms: 1 } };
    assert.ok(ProgramInput.safeParse(good).success);
    for (const bad of [
      { execution_id: '../x' },
      { execution_id: 'a/b' },
      { execution_id: '.programs' },
      { path: 'a\0b' },
      { args: ['a\0b'] },
      { args: ['x'.repeat(200_000)] },
      { env: { 'A=B': 'x' } },
      { env: { LD_PRELOAD: 'x' } },
      { limits: { timeout_ms: 0 } },
    ]) {
      assert.ok(!ProgramInput.safeParse({ ...good, ...bad }).success, JSON.stringify(bad).slice(0, 80));
    }
  });

  test('files of one execution are not those of another', async () => {
    const path = await setup.script('#!/bin/sh\necho "$1" > mine; sleep 0.1; cat mine\n');
    const runs = ['a', 'b', 'c'].map((id) => setup.run({ path, execution_id: id, args: [id] }));
    assert.deepEqual(
      (await Promise.all(runs)).map((run) => run.stdout),
      ['a\n', 'b\n', 'c\n'],
    );
    assert.equal(await readFile(join(setup.workspaces, 'acme', 'b', 'mine'), 'utf8'), 'b\n');
  });
});
