import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { waitUntil } from '../support/wait-until.ts';

const BENCH = join(import.meta.dirname, '..', '..', 'bench');
const skip = spawnSync('go', ['version']).status === 0 ? false : 'Go is not installed';

/** The builds' own cache stays where it is: only temporary files go to the test's folder. */
const goCache = spawnSync('go', ['env', 'GOCACHE'], { encoding: 'utf8' }).stdout?.trim();

interface Ended {
  readonly code: number | null;
  readonly out: string;
}

describe('node bench/lists.ts', () => {
  let directory = '';
  let temporary = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-lists-test-'));
    temporary = join(directory, 'tmp');
    await mkdir(temporary);
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const begin = (args: readonly string[], env: NodeJS.ProcessEnv): { child: ChildProcess; told: () => string } => {
    const { MONGODB_URI, SVC_BENCH_SOURCES, SVC_BENCH_POSTGRES, SVC_BENCH_STORE, ...rest } = process.env;
    const own = { ...rest, TMPDIR: temporary, GOCACHE: goCache, ...env };
    const child = spawn(process.execPath, [...args], { env: own, stdio: ['ignore', 'pipe', 'pipe'] });
    let told = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        told += chunk.toString();
      });
    }
    return { child, told: () => told };
  };
  const program = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> => {
    const { child, told } = begin(args, env);
    await once(child, 'close');
    return { code: child.exitCode, out: told() };
  };
  const lists = (args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Ended> =>
    program([join(BENCH, 'lists.ts'), ...args], env);

  /** A folder that looks like FerretDB's sources, with this main function. */
  const sourcesWith = async (name: string, files: Readonly<Record<string, string>>): Promise<string> => {
    const folder = join(directory, name);
    await mkdir(join(folder, 'cmd', 'ferretdb'), { recursive: true });
    await writeFile(join(folder, 'go.mod'), 'module example.com/ferretdb\n\ngo 1.21\n');
    for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
    return folder;
  };
  const broken = (): Promise<string> =>
    sourcesWith('broken', { 'cmd/ferretdb/main.go': 'package main\n\nfunc main() { missing() }\n' });

  test('its help names each way to give a server and ends with 0', async () => {
    const { code, out } = await lists(['--help']);
    assert.equal(code, 0);
    for (const way of ['--sources', 'SVC_BENCH_SOURCES', '--postgres', 'MONGODB_URI'])
      assert.ok(out.includes(way), way);
  });

  test('an option that it does not know, or two servers at once, end with 2 and the usage', async () => {
    const unknown = await lists(['--source', 'x']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.out, /--source.*\n.*--postgres DIR/s);
    const both = await lists(['--sources', directory], { MONGODB_URI: 'mongodb://ada:hush@127.0.0.1/' });
    assert.equal(both.code, 2);
    assert.match(both.out, /both sources and MONGODB_URI/);
    assert.doesNotMatch(both.out, /hush/);
  });

  test('sources that are missing, or are something else, are refused by their path', async () => {
    const nowhere = join(directory, 'nowhere');
    const missing = await lists([], { SVC_BENCH_SOURCES: nowhere });
    assert.deepEqual(missing, { code: 1, out: `no sources: there is no file or folder ${nowhere}\n` });
    const text = join(directory, 'notes.txt');
    await writeFile(text, 'no archive');
    const noArchive = await lists(['--sources', text]);
    assert.deepEqual(noArchive, {
      code: 1,
      out: `no sources: ${text} is neither a folder nor an archive that tar reads\n`,
    });
    const other = await lists(['--sources', temporary]);
    assert.deepEqual(other, { code: 1, out: `no sources of FerretDB 2: there is no go.mod in ${temporary}\n` });
    assert.deepEqual(await readdir(temporary), []);
  });

  test('sources that do not build are refused with what the compiler says, as a folder and as an archive', {
    skip,
  }, async () => {
    const folder = await broken();
    const archive = join(directory, 'broken.tar.gz');
    assert.equal(spawnSync('tar', ['-czf', archive, '-C', directory, 'broken']).status, 0);
    for (const sources of [folder, archive]) {
      const { code, out } = await lists(['--sources', sources]);
      assert.equal(code, 1);
      assert.match(out, /^the sources do not build: .*undefined: missing/s);
    }
    assert.deepEqual(await readdir(temporary), []);
  });

  test('a module that the sources need and this machine lacks is not fetched', { skip }, async () => {
    const sum = 'h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=';
    const sources = await sourcesWith('needy', {
      'go.mod': 'module example.com/ferretdb\n\ngo 1.21\n\nrequire example.com/part v1.0.0\n',
      'go.sum': `example.com/part v1.0.0 ${sum}\nexample.com/part v1.0.0/go.mod ${sum}\n`,
      'cmd/ferretdb/main.go': 'package main\n\nimport _ "example.com/part"\n\nfunc main() {}\n',
    });
    const { code, out } = await lists(['--sources', sources]);
    assert.equal(code, 1);
    assert.match(out, /^the sources do not build: .*GOPROXY=off/s);
  });

  test('a PostgreSQL without DocumentDB is refused by the extension that it lacks', { skip }, async () => {
    const sources = await sourcesWith('builds', { 'cmd/ferretdb/main.go': 'package main\n\nfunc main() {}\n' });
    const programs = join(directory, 'programs');
    await mkdir(programs);
    const none = await lists(['--sources', sources, '--postgres', programs]);
    assert.match(none.out, /^no PostgreSQL: there is no pg_config in .*programs/);
    await writeFile(join(programs, 'pg_config'), `#!/bin/sh\necho ${directory}\n`, { mode: 0o755 });
    const { code, out } = await lists(['--sources', sources, '--postgres', programs]);
    assert.equal(code, 1);
    assert.match(out, /lacks the extension documentdb: install DocumentDB/);
    assert.deepEqual(await readdir(temporary), []);
  });

  test('the error for a MONGODB_URI without an answer names the variable and no credentials', async () => {
    const port = await freePort();
    const bench = [join(BENCH, 'run.ts'), 'management', '--quick'];
    const env = { MONGODB_URI: `mongodb://ada:hush@127.0.0.1:${port}/` };
    for (const away of await Promise.all([lists([], env), program(bench, env)])) {
      assert.equal(away.code, 1);
      assert.match(away.out, /the server that MONGODB_URI names cannot be used: no answer \(ECONNREFUSED\)/);
      assert.doesNotMatch(away.out, /ada|hush/);
    }
  });

  test('a MONGODB_URI that the driver does not take is refused without a part of its password', async () => {
    for (const password of ['hu@sh', 'hu/sh', 'hu%sh', 'hu:sh']) {
      const { code, out } = await lists([], { MONGODB_URI: `mongodb://ada:${password}@127.0.0.1:1/` });
      assert.equal(code, 1);
      assert.match(out, /MONGODB_URI/);
      assert.doesNotMatch(out, /ada|hu|sh\b/);
    }
  });

  test('without a server it prints what it does not measure, and measures SQLite alone', async () => {
    const { child, told } = begin([join(BENCH, 'lists.ts'), '--quick'], {});
    const ended = once(child, 'close');
    try {
      await waitUntil('a row of figures', () => told().includes('| agent.list |'), 60_000);
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
    assert.match(told(), /^OMITTED: MongoDB-wire servers\. Neither --sources/);
    assert.match(told(), /^SQLite \| agent\.list \|/m);
    assert.doesNotMatch(told(), /^FerretDB/m);
  });
});
