import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';

const SOURCE = new URL('../../cli/start/kept-script.ts', import.meta.url).href;

/** A script with functions that a start does not call. */
const functions = Array.from(
  { length: 200 },
  (_, index) =>
    `(a) => { let sum = ${index}; for (const one of [1, a, 3]) { sum += one * a; } return { sum, a, at: [sum] }; }`,
);
const SCRIPT = `(function (module) { module.exports.functions = [${functions.join(',\n')}]; })`;

describe('the kept code of a script', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'svc-kept-'));
    writeFileSync(join(directory, 'script.js'), SCRIPT);
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  /** A process that keeps the code of its start, then works and ends. */
  function run(work: string, flags: readonly string[] = []): void {
    const program = `
      import { setFlagsFromString } from 'node:v8';
      const { keptScript } = await import(${JSON.stringify(SOURCE)});
      const script = keptScript(${JSON.stringify(join(directory, 'script.js'))}, () => '');
      const call = (count) => script.exports.functions.slice(0, count).forEach((one) => one(1));
      script.keep();
      script.keepAtExit();
      ${work}`;
    const ended = spawnSync(process.execPath, [...flags, '--input-type=module', '--eval', program], {
      env: { PATH: process.env.PATH, NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: join(directory, 'kept') },
      encoding: 'utf8',
    });
    assert.equal(ended.stderr, '');
  }

  /** Returns the name and bytes of the file that it has kept. */
  function life(work: string, flags: readonly string[] = []): { readonly file: string; readonly code: Buffer } {
    run(work, flags);
    const [name, ...others] = globSync('*/svc-node-*', { cwd: join(directory, 'kept') });
    assert.ok(name !== undefined);
    assert.deepEqual(others, []);
    const file = join(directory, 'kept', name);
    return { file, code: readFileSync(file) };
  }

  test('has what work compiled once a process has ended in order, and the next process takes it', () => {
    const started = life('process.exit(0)');
    const worked = life('call(200); process.exit(0)');
    assert.ok(worked.code.length > started.code.length * 2);
    const { ino } = statSync(worked.file);
    // A process that refused the code would write its own when it has started.
    assert.deepEqual(life('process.exit(0)').code, worked.code);
    assert.equal(statSync(worked.file).ino, ino);
  });

  test('stays as it was when a process fails, adds hardly anything, or runs under other options than at its start', () => {
    const { code } = life('call(100); process.exit(0)');
    for (const work of [
      'call(200); process.exit(1)',
      'call(101); process.exit(0)',
      `call(200); setFlagsFromString('--expose-gc'); process.exit(0)`,
    ])
      assert.deepEqual(life(work).code, code, work);
    assert.ok(life('call(200); process.exit(0)').code.length > code.length);
  });

  test('a start that cannot keep its compiled code leaves no part of it', () => {
    const { file } = life('process.exit(0)');
    rmSync(file);
    mkdirSync(file);
    run('call(200); process.exit(0)');
    assert.deepEqual(
      readdirSync(join(file, '..')).filter((name) => name.startsWith('svc-node-')),
      [basename(file)],
    );
  });

  test('still has the code of the start after collections that would have dropped it', () => {
    const soon = ['--bytecode-old-age=1', '--initial-old-space-size=8'];
    const { code } = life('process.exit(0)', soon);
    const collect = `call(200);
      for (let round = 0; round < 12; round += 1) {
        globalThis.objects = Array.from({ length: 8 }, () => Array.from({ length: 100_000 }, (_, at) => ({ at })));
        await new Promise(setImmediate);
      }
      process.exit(0)`;
    assert.ok(life(collect, soon).code.length > code.length * 2);
  });
});
