import { waitUntil } from '../../support/wait-until.ts';
import type { FaultCase, RoundOutcome } from './fault-case.ts';
import { timeLeftMs } from './quiet.ts';
import { openRedisFleet, type RedisFleet } from './redis-fleet.ts';

const COMMANDS = 12;
/** Commands outlast the outage by this time: without a limit other nodes would take them over long before their end. */
const BEYOND_S = 8;
const ENDED_WITHIN_MS = 60_000;

interface RedisOutage {
  readonly name: string;
  /** Approximate duration of the outage. */
  readonly seconds: number;
  /** Resolves when it is back. */
  readonly strike: (fleet: RedisFleet, ms: number) => Promise<void>;
}

const killed = async ({ redis }: RedisFleet, ms: number): Promise<void> => {
  await redis.kill();
  await passed(ms);
  await redis.restart();
};

const paused = async ({ admin }: RedisFleet, ms: number): Promise<void> => {
  await admin.call('CLIENT', 'PAUSE', String(ms), 'ALL');
  await passed(ms);
};

const readOnly = async ({ admin }: RedisFleet, ms: number): Promise<void> => {
  await admin.call('REPLICAOF', '127.0.0.1', '1');
  await passed(ms);
  await admin.call('REPLICAOF', 'NO', 'ONE');
};

const OUTAGES: readonly RedisOutage[] = [
  { name: 'killed for 8 s', seconds: 8, strike: killed },
  { name: 'killed for 3 s', seconds: 3, strike: killed },
  { name: 'read-only for 8 s', seconds: 8, strike: readOnly },
  { name: 'paused for 9 s', seconds: 9, strike: paused },
  { name: 'killed for 1.5 s', seconds: 1.5, strike: killed },
  { name: 'paused for 3 s', seconds: 3, strike: paused },
  { name: 'killed for 60 s', seconds: 60, strike: killed },
];

function passed(ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  return waitUntil(`${ms} ms to pass`, () => performance.now() > end, ms + 10_000);
}

export const redisAway: FaultCase = {
  name: 'redis-away',
  title: 'Redis is away for seconds while commands of two live nodes run: none is ended, none fails, none runs twice',
  stores: ['redis'],
  async open() {
    const fleet = await openRedisFleet({ appendfsync: 'always' });
    return { round: (seed) => round(fleet, seed), close: () => fleet.close() };
  },
};

function round(fleet: RedisFleet, seed: number): Promise<RoundOutcome> {
  const outage = OUTAGES[seed % OUTAGES.length];
  if (outage === undefined) throw new Error('there is no such outage');
  return commandsThrough(fleet, outage, seed);
}

/** Commands of both nodes begin before the outage and end after it; `seed` names them. */
export async function commandsThrough(fleet: RedisFleet, outage: RedisOutage, seed: number): Promise<RoundOutcome> {
  const names = Array.from({ length: COMMANDS }, (_, n) => `${seed}-${n}`);
  const seconds = String(outage.seconds + BEYOND_S);
  const ids = await Promise.all(
    names.map((run, n) => fleet.at(n).run('marked', { input: { run, seconds } }, `away-${run}`)),
  );
  const begun = async () => {
    const marks = await fleet.marks();
    return names.every((run) => marks.includes(`begin ${run}`));
  };
  await waitUntil('all commands to begin', begun, ENDED_WITHIN_MS);
  await outage.strike(fleet, outage.seconds * 1_000);
  const backAt = performance.now();
  await fleet.ready();
  const probe = await fleet.calls.run('marked', { input: { run: `probe-${seed}`, seconds: '0' } }, `probe-${seed}`);
  await waitUntil('a new run ends', async () => (await fleet.calls.get(probe)).status === 'completed', ENDED_WITHIN_MS);
  const newRunMs = performance.now() - backAt;
  const ended = async (id: string) => {
    const { status } = await fleet.calls.get(id);
    return status === 'completed' || status === 'failed' || status === 'cancelled';
  };
  let hung = 0;
  for (const id of ids) {
    await waitUntil(`run ${id} ends`, () => ended(id), timeLeftMs(backAt)).catch(() => {
      hung += 1;
    });
  }
  const broken = await fleet.stillUnderWay(backAt, [...ids, probe]);
  const recoveryMs = performance.now() - backAt;
  const marks = await fleet.marks();
  const times = (mark: string): number => marks.filter((one) => one === mark).length;
  // A command that its node ended wrote no end mark. A run whose status contradicts its marks counts as lost as well.
  const lost = names.filter((run) => times(`end ${run}`) === 0).length;
  const repeated = names.filter((run) => times(`begin ${run}`) > 1 || times(`end ${run}`) > 1).length;
  const failed = await Promise.all(ids.map(async (id) => !(await completedWell(fleet, id))));
  return {
    runs: COMMANDS,
    hung: hung + broken.length,
    nodesEnded: fleet.nodes.filter(({ crashed }) => crashed).length,
    lost: Math.max(lost, failed.filter(Boolean).length - hung),
    repeated,
    recoveryMs,
    notes: [
      `Redis was ${outage.name}: ${lost} commands ended, ${failed.filter(Boolean).length} runs failed`,
      `a new run ended after ${Math.round(newRunMs)} ms`,
      ...broken,
    ],
  };
}

async function completedWell(fleet: RedisFleet, id: string): Promise<boolean> {
  const seen = await fleet.calls.get(id);
  return seen.status === 'completed' && JSON.stringify(seen).includes('"ok":"yes"');
}
