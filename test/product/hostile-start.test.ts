import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { startNode } from '../../main.ts';
import { readFlags } from '../../read-settings.ts';
import { SvcError } from '../../runtime/errors.ts';
import { builtProgram } from '../support/built-programs.ts';
import { COMPILED } from '../support/program-options.ts';
import { sample, someOf } from '../support/size.ts';
import { smallFileSystem } from '../support/small-disk.ts';
import { ProductNode } from './product-node.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'main.ts');
/** A node that cannot start fails at once; a start that hangs is ended and fails the test. */
const MOST_MS = 60_000;
/** One of this many starts runs in a separate process too, which takes most of a second of processor time. */
const PROCESS_EVERY = sample({ normal: 40, long: 1 });
const FREE_PORTS = ['--http-port', '0', '--grpc-port', '0'];

const head = 'apiVersion: svc.dev/v1\nkind: NodeConfig\n';

/** Wrong files, with the expected error: the key, the line and the expected value. */
const FILES: readonly (readonly [title: string, file: string | Uint8Array, expected: RegExp])[] = [
  ['an unknown key', `${head}spec: { netwrok: {} }\n`, /spec\S*\W+\(line 3\): .*netwrok/],
  ['a deep unknown key', `${head}spec:\n  network:\n    prot: 1\n`, /spec\.network\S*\W+\(line 5\): .*prot/],
  ['a port that is text', `${head}spec: { network: { port: http } }\n`, /spec\.network\.port \(line 3\): expected/],
  ['a port too large', `${head}spec: { network: { port: 70000 } }\n`, /spec\.network\.port .*at most 65535, got 70000/],
  [
    'two listeners on a port',
    `${head}spec: { network: { internal: { port: 7777, grpc_port: 7777 } } }\n`,
    /internal\.grpc_port .*port 7777 is already spec/,
  ],
  ['a bind that is open to all', `${head}spec: { network: { bind: 0.0.0.0 } }\n`, /0\.0\.0\.0 is not loopback/],
  [
    'redis alone',
    `${head}spec: { stores: { redis: "redis://127.0.0.1:1" } }\n`,
    /spec\.stores\.mongodb .*is needed too/,
  ],
  [
    'mongodb alone',
    `${head}spec: { stores: { mongodb: "mongodb://127.0.0.1:1" } }\n`,
    /spec\.stores\.redis .*is needed/,
  ],
  ['another scheme', `${head}spec: { stores: { redis: "http://a", mongodb: "mongodb://a" } }\n`, /spec\.stores\.redis/],
  ['another kind', 'apiVersion: svc.dev/v1\nkind: Agent\n', /kind \(line 2\): .*NodeConfig/],
  ['another version', 'apiVersion: svc.dev/v9\nkind: NodeConfig\n', /apiVersion \(line 1\): .*svc\.dev\/v1/],
  ['a duplicate key', `${head}spec: {}\nspec: {}\n`, /line 4\): duplicate key "spec"/],
  ['an alias bomb', `${head}metadata:\n${bomb()}`, /alias/],
  ['broken YAML', `${head}spec: { network: [`, /line \d/],
  ['a list', '- a\n', /the document \(line 1\): expected a map/],
  ['no UTF-8', new Uint8Array([0xff, 0xfe, 0x41]), /is not valid UTF-8/],
  ['no kind at all', '', /kind \(line 1\): required/],
  [
    'two realms of one issuer',
    `${head}spec: { iam: { realms: [${realm('a')}, ${realm('b')}] } }\n`,
    /spec\.iam\.realms\[1\]\.issuer_url .*already used by realms\[0\]/,
  ],
  [
    'a provider of no type',
    `${head}spec: { llm_providers: [{ name: x, type: nonsense }] }\n`,
    /llm_providers\[0\]\.type/,
  ],
  [
    'embeddings of an unknown model',
    `${head}spec: { cortex: { embeddings: { alias: meaning } } }\n`,
    /cortex\.embeddings\.alias: no enabled provider has a model with the alias "meaning"/,
  ],
];

function realm(slug: string): string {
  return `{ slug: ${slug}, kind: tenant, audience: x, issuer_url: "https://i.example", jwks_uri: "https://i.example/k" }`;
}

function bomb(): string {
  const lines = ['  labels:', '    a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let at = 1; at < 9; at += 1)
    lines.push(
      `    a${at}: &a${at} [${Array(10)
        .fill(`*a${at - 1}`)
        .join(', ')}]`,
    );
  return `${lines.join('\n')}\n`;
}

const FLAGS: readonly (readonly [args: readonly string[], expected: RegExp])[] = [
  [['--nope'], /^Unknown option '--nope'; there are --data, --http-port/],
  [['--data'], /^Option '--data <value>' argument missing/],
  [['start'], /^Unexpected argument 'start'/],
  [['--http-port', 'x'], /--http-port: expected/],
  [['--http-port', '-1'], /--http-port/],
  [['--bind', '0.0.0.0'], /--bind: 0\.0\.0\.0 is not loopback/],
  [['--role', 'king'], /--role: expected/],
  [['--config', 'missing.yaml'], /configuration file missing\.yaml cannot be read \(ENOENT\)/],
  [['--config', '.'], /configuration file \. cannot be read \(EISDIR\)/],
];

describe('a node that cannot start', () => {
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-start-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  async function refused(args: readonly string[], title = args.join(' ')): Promise<{ stderr: string; ms: number }> {
    const startedAt = performance.now();
    const env = { PATH: process.env.PATH, ...COMPILED, NODE_NO_WARNINGS: '1' };
    const child = spawn(process.execPath, [builtProgram(MAIN), ...args], {
      cwd: directory,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const cut = setTimeout(() => child.kill('SIGKILL'), MOST_MS);
    const [stderr, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    clearTimeout(cut);
    assert.equal(signal, null, `${title}: it ran for ${MOST_MS} ms: ${stderr}`);
    assert.equal(code, 1, stderr);
    assert.doesNotMatch(stderr, /^\s+at /m, 'no stack trace');
    return { stderr, ms: performance.now() - startedAt };
  }

  /** The error of each start: in this process, which has loaded the product, and of some in separate processes. */
  async function says(args: readonly string[], expected: RegExp, at: number, title: string): Promise<void> {
    const start = async () => startNode({ flags: readFlags(args), env: {} });
    await assert.rejects(start, (error) => error instanceof SvcError && expected.test(error.message), title);
    if (at % PROCESS_EVERY === 0) assert.match((await refused(args, title)).stderr, expected, title);
  }

  test('names the key of a wrong file, its line and what was expected', async () => {
    for (const [at, [title, content, expected]] of FILES.entries()) {
      const file = join(directory, 'wrong.yaml');
      await writeFile(file, content);
      await says(['--config', file, '--data', join(directory, 'data'), ...FREE_PORTS], expected, at, title);
    }
  });

  test('names the flag', async () => {
    for (const [at, [args, expected]] of FLAGS.entries()) await says(args, expected, at, args.join(' '));
  });

  test('says why a data directory cannot be used, also where none can be created', async () => {
    await writeFile(join(directory, 'file'), '');
    const places = [
      ['/proc/nope', /data directory \/proc\/nope: it cannot be created there \(ENOENT\); choose another with --data/],
      ['/proc/nope/deeper', /data directory \/proc\/nope\/deeper: it cannot be created there/],
      ['/sys/nope', /this user may not write there \(E(PERM|ACCES)\)/],
      [join(directory, 'file'), /there is a file of that name/],
      [join(directory, 'file', 'below'), /a part of the path is a file/],
    ] as const;
    for (const [at, [path, expected]] of places.entries())
      await says(['--data', path, ...FREE_PORTS], expected, at, path);
    for (const [path, expected] of someOf(places, places.length)) {
      const { stderr, ms } = await refused(['--data', path, ...FREE_PORTS]);
      assert.match(stderr, expected);
      assert.equal(stderr.trim().split('\n').length, 1);
      console.log(`refused ${path} after ${Math.round(ms)} ms`);
    }
  });

  test('says that the disk is full, with and without data', async (context) => {
    const disk = await smallFileSystem();
    if (disk === null) return context.skip('no file system may be mounted');
    await using held = disk;
    await using node = await ProductNode.start({ dataDir: join(held.directory, 'data') });
    await node.process.kill('SIGTERM');
    await held.fill(node.process.pid);
    for (const [name, expected] of [
      ['none', /the data directory \S+: the disk is full \(ENOSPC\); choose another with --data/],
      ['data', /the data file cannot be used: database or disk is full/],
    ] as const) {
      const { stderr } = await refused(['--data', join(held.directory, name), ...FREE_PORTS]);
      assert.match(stderr, expected);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
    }
  });

  test('says which port is in use, and does not lock the data directory', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    const data = ['--data', join(directory, 'ports')];
    const rest = await refused([...data, '--http-port', port, '--grpc-port', '0']);
    assert.match(rest.stderr, new RegExp(`already in use 127\\.0\\.0\\.1:${port} \\(choose another port`));
    const grpc = await refused([...data, '--http-port', '0', '--grpc-port', port]);
    assert.match(grpc.stderr, new RegExp(`gRPC cannot listen on 127\\.0\\.0\\.1:${port} \\(choose another port`));
    await new Promise((resolve) => holder.close(resolve));
  });

  test('refuses the data directory of another node, which keeps running', async () => {
    await using first = await ProductNode.start();
    const data = join(first.directory, 'data');
    const { stderr } = await refused(['--data', data, ...FREE_PORTS]);
    assert.match(stderr, /the data directory \S+ is in use by another process/);
    assert.equal((await first.call('GET', '/health/ready')).status, 200);
  });
});
