import { readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { seeded } from '../../support/faulty-store.ts';
import { startMongo } from '../../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';
import { LostWrites, RUNS_BEFORE, RUNS_LOST } from './lost-writes.ts';

const NODES = 2;

/** One file grows for the whole case: where it is cut is then one length. */
const ONE_FILE = ['--auto-aof-rewrite-percentage', '0', '--aof-load-truncated', 'yes'];

export const powerFailure: FaultCase = {
  name: 'power-failure',
  title:
    'Redis with everysec loses power and comes back without its last 1 to 3 s: what it kept ends, each takeover says what went back',
  stores: ['redis'],
  async open(): Promise<FaultWorld> {
    await using opened = new AsyncDisposableStack();
    const mongo = await startMongo();
    opened.defer(() => mongo.stop());
    const redis = await startRedis({ appendfsync: 'everysec', args: ONE_FILE });
    opened.defer(() => redis.stop());
    const stores = { redis: redis.url, mongodb: mongo.uri };
    const runs = await LostWrites.open(NODES, stores, opened);
    const all = opened.move();
    return { round: (seed) => round(redis, runs, seed), close: () => all.disposeAsync() };
  },
};

async function round(redis: RedisServer, runs: LostWrites, seed: number): Promise<RoundOutcome> {
  const random = seeded(seed);
  const told = await runs.told();
  const kept = await runs.start(RUNS_BEFORE, random);
  const file = await writtenTo(redis);
  const { size } = await stat(file);
  const lostMs = 1_000 + random() * 2_000;
  const begun = performance.now();
  const late = await runs.start(RUNS_LOST, random);
  await pause(Math.max(0, lostMs - (performance.now() - begun)));
  await redis.kill();
  // A power failure leaves what the disk has: the file as it was before.
  await truncate(file, size);
  await redis.restart();
  return runs.silence(redis.url, kept, late, told);
}

/** The part of the log that grows. A call that was answered is in it: Redis writes before it answers, only the sync is late. */
async function writtenTo(redis: RedisServer): Promise<string> {
  const admin = new Redis(redis.url);
  try {
    const [, directory = 'appendonlydir'] = [await admin.config('GET', 'appenddirname')].flat().map(String);
    const folder = join(redis.directory, directory);
    const parts = (await readdir(folder)).filter((name) => name.endsWith('.incr.aof'));
    const [only] = parts;
    if (only === undefined || parts.length > 1) throw new Error(`expected one growing part, found ${parts.length}`);
    return join(folder, only);
  } finally {
    admin.disconnect();
  }
}
