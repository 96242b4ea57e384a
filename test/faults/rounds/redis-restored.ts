import { LIVENESS_MS } from '../../support/liveness.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { FaultCase, RoundOutcome } from './fault-case.ts';
import { openRedisFleet, type RedisFleet } from './redis-fleet.ts';

const BEFORE = 15;
const AFTER = 15;
const QUIET_WITHIN_MS = 60_000;
/** Limit for anything that runs again: sweeps run each 2 s, claims of an earlier process expire after 6 s. */
const WATCHED_MS = 10_000;

export const redisRestored: FaultCase = {
  name: 'redis-restored',
  title: 'Redis is restored from a backup that is older than MongoDB: no run that had ended runs again',
  stores: ['redis'],
  async open() {
    // It writes no append-only file, so a restart returns it to its last save.
    const fleet = await openRedisFleet({ args: ['--appendonly', 'no'] });
    return { round: (seed) => round(fleet, seed), close: () => fleet.close() };
  },
};

async function round(fleet: RedisFleet, seed: number): Promise<RoundOutcome> {
  const run = (n: number) => {
    const name = `restored-${seed}-${n}`;
    const seconds = (((seed * 7 + n) % 10) / 5).toFixed(1);
    return fleet.at(n).run('marked', { input: { run: name, seconds } }, name);
  };
  const first = await Promise.all(Array.from({ length: BEFORE }, (_, n) => run(n)));
  const mine = async () => (await fleet.marks()).filter((mark) => mark.includes(` restored-${seed}-`));
  await waitUntil('some commands to run', async () => (await mine()).length >= seed % 12, QUIET_WITHIN_MS);
  await fleet.admin.save();
  const ids = [...first, ...(await Promise.all(Array.from({ length: AFTER }, (_, n) => run(BEFORE + n))))];
  await waitUntil('all runs are archived', async () => (await fleet.recorded()) === 0, QUIET_WITHIN_MS);
  const before = await mine();
  await fleet.redis.kill();
  const backAt = performance.now();
  await fleet.redis.restart();
  await fleet.ready();
  await waitUntil(
    'Redis holds no ended run',
    async () => (await fleet.recorded().catch(() => 1)) === 0,
    LIVENESS_MS,
  ).catch(() => {});
  const broken = await fleet.stillUnderWay(backAt, ids);
  const recoveryMs = performance.now() - backAt;
  await waitUntil('what runs again to show', () => performance.now() > backAt + WATCHED_MS, 2 * WATCHED_MS);
  const seen = await Promise.all(ids.map((id) => fleet.calls.get(id)));
  const again = (await mine()).slice(before.length).filter((mark) => mark.startsWith('begin'));
  return {
    runs: ids.length,
    hung: broken.length + (await fleet.recorded()),
    nodesEnded: fleet.nodes.filter(({ crashed }) => crashed).length,
    lost: seen.filter(({ status }) => status !== 'completed').length,
    repeated: again.length,
    recoveryMs,
    notes: broken,
  };
}
