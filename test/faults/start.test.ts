import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { builtProgram } from '../support/built-programs.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { NodeProcess } from '../support/node-process.ts';
import { COMPILED } from '../support/program-options.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { smallFileSystem } from '../support/small-disk.ts';

const skip = serversMissing();
const MAIN = join(import.meta.dirname, '..', '..', 'main.ts');
/** Limit of a supervisor: a start that takes longer hangs. */
const MOST_MS = 60_000;

interface Stores {
  readonly data: string;
  readonly redis: string;
  readonly mongodb: string;
}

describe('a start without its stores', { skip, timeout: 600_000 }, () => {
  let directory = '';
  let redis: RedisServer;
  let mongo: TestMongo;
  let good: Stores;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-start-'));
    [redis, mongo] = await Promise.all([startRedis(), startMongo()]);
    const admin = new Redis(redis.url);
    await admin.config('SET', 'requirepass', 'the-password');
    admin.disconnect();
    const url = redis.url.replace('//', '//:the-password@');
    good = { data: join(directory, 'data'), redis: url, mongodb: mongo.uri };
  });
  after(async () => {
    await Promise.all([redis.stop(), mongo.stop()]);
    await rm(directory, { recursive: true, force: true });
  });

  const argsOf = ({ data, redis: url, mongodb }: Stores): string[] => {
    const stores = ['--data', data, '--redis', url, '--mongodb', mongodb];
    return [...stores, '--http-port', '0', '--grpc-port', '0'];
  };

  /** Runs `node main.ts` until it exits by itself; returns its output. */
  async function refused(stores: Stores): Promise<string> {
    const env = { PATH: process.env.PATH, ...COMPILED, NODE_NO_WARNINGS: '1' };
    const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe'];
    const child = spawn(process.execPath, [builtProgram(MAIN), ...argsOf(stores)], { env, stdio });
    const begun = performance.now();
    const cut = setTimeout(() => child.kill('SIGKILL'), MOST_MS);
    const [stderr, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    clearTimeout(cut);
    assert.equal(signal, null, `it ran for ${MOST_MS} ms: ${stderr}`);
    assert.equal(code, 1, stderr);
    assert.doesNotMatch(stderr, /the-password/);
    console.log(`ended after ${Math.round(performance.now() - begun)} ms: ${stderr.trim().split('\n').at(-1)}`);
    return stderr;
  }

  for (const [what, wrong, expected] of [
    ['a Redis that refuses connections', { redis: 'redis://127.0.0.1:1' }, /Redis cannot be reached/],
    ['a Redis whose name does not resolve', { redis: 'redis://redis.invalid:6379' }, /Redis cannot be reached/],
    ['a MongoDB that refuses connections', { mongodb: 'mongodb://127.0.0.1:1' }, /the document store did not answer/],
    [
      'a MongoDB whose name does not resolve',
      { mongodb: 'mongodb://mongo.invalid:27017' },
      /the document store did not answer/,
    ],
  ] as const) {
    test(`${what} at the start: one clear error and exit code 1, so that a supervisor tries again`, async () => {
      const stderr = await refused({ ...good, ...wrong });
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /^\s+at /m, 'no stack trace');
    });
  }

  test('a wrong password of Redis: exit code 1, and the password is in no message', async () => {
    const stderr = await refused({ ...good, redis: redis.url.replace('//', '//:wrong-password@') });
    assert.match(stderr, /WRONGPASS/);
    assert.doesNotMatch(stderr, /wrong-password/);
  });

  test('a second process on the data directory of a node with remote stores is refused; the first keeps serving', async () => {
    const first = new NodeProcess(argsOf(good));
    first.spawn();
    const url = await first.url;
    try {
      assert.match(await refused(good), /the data directory \S+ is in use by another process/);
      assert.equal((await fetch(`${url}/health/ready`)).status, 200);
    } finally {
      await first.stop();
    }
  });

  test('a read-only data directory is refused by name', async (context) => {
    if (process.getuid?.() === 0) return context.diagnostic('root may write everywhere');
    const data = join(directory, 'read-only');
    await mkdir(data);
    await chmod(data, 0o555);
    assert.match(await refused({ ...good, data }), /may not write there/);
  });

  test('a data directory whose file system became read-only is refused by name', async (context) => {
    await using disk = await smallFileSystem();
    if (disk === null) return context.diagnostic('this user may mount no file system');
    const data = join(disk.directory, 'data');
    await mkdir(data);
    await writeFile(join(data, 'node-id'), 'node-1\n');
    execFileSync('mount', ['-o', 'remount,ro', disk.directory]);
    assert.match(await refused({ ...good, data }), /data directory \S+: the file system is read-only \(EROFS\)/);
  });
});
