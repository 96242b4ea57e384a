import { truncate } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { seeded } from '../../support/faulty-store.ts';
import { startMongo } from '../../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { LostWrites, RUNS_BEFORE, RUNS_LOST } from './lost-writes.ts';
import { idsAfter, markOf, positionsIn } from './store-loss.ts';

const NODES = 2;

/** Redis keeps one append-only file for the whole case, so a length is enough to say where to cut it. */
const ONE_FILE = ['--auto-aof-rewrite-percentage', '0', '--aof-load-truncated', 'yes'];

export const powerFailure: FaultCase = {
  name: 'power-failure',
  title:
    'Redis with everysec loses power and its last 1 to 3 s of writes: the runs that it kept end, and each takeover reports what was rewound',
  stores: ['redis'],
  async open(): Promise<FaultStores> {
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
  const lengthsBefore = await runs.logLengths();
  const kept = await runs.start(RUNS_BEFORE, random);
  const mark = await markOf(redis);
  // Starts shortly after the mark: writes between the two are lost as well, and not checked.
  const stored = await positionsIn(redis.url);
  const lostMs = 1_000 + random() * 2_000;
  const begun = performance.now();
  const late = await runs.start(RUNS_LOST, random);
  await pause(Math.max(0, lostMs - (performance.now() - begun)));
  const had = await positionsIn(redis.url);
  await redis.kill();
  const loss = { had, stored, ids: await idsAfter(mark) };
  // A power failure leaves the file as it was on disk before.
  await truncate(mark.file, mark.size);
  await redis.restart();
  return runs.quietOutcome(redis.url, { kept, late }, loss, lengthsBefore);
}
