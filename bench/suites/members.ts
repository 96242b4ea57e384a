import { Redis } from 'ioredis';
import { Fleet } from '../../cluster/placement/fleet.ts';
import { type Member, membersAfter } from '../../runtime/members.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { type RedisServer, startRedis } from '../../test/support/redis.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { MemberInfo } from '../../usecases/ports/cluster.ts';
import { type Plan, type Section, table } from '../report.ts';

const SIZES = [100, 300, 1_000, 3_000];
const TTL_MS = 600_000;
const RENEW_MS = 2_000;
/** Calls in flight, each over a connection of its own, as those of different nodes. */
const AT_ONCE = 16;
/** Changes between two reads of a node. */
const TOGETHER = 100;
const POOLS = [
  { pool: 'default', partitions: 256 },
  { pool: 'system', partitions: 8 },
];

const life = (n: number, weight = 1): Member => {
  const info: MemberInfo = {
    ...{ role: 'hybrid', tags: ['gpu', 'eu'], weight, draining: false, version: '0.1.0', format: 6 },
    ...{ startedAt: 1_700_000_000_000, pulse: `10.0.0.1:${7_000 + n}`, clusterAddress: null, restUrl: null },
  };
  return { node: `node-${n}`, incarnation: `life-${n}`, card: JSON.stringify(info) };
};

/** The load of membership on Redis and on each node, by the size of the fleet. */
export async function members(plan: Plan): Promise<Section> {
  const redis = await startRedis({ appendfsync: 'everysec' });
  const admin = new Redis(redis.url);
  const stores = Array.from({ length: AT_ONCE }, () => new RedisActorStore({ urls: redis.url }));
  for (const store of stores) await store.open();
  const storeOf = (n: number) => stores[n % AT_ONCE] ?? raise('there is no such connection');
  const rows: string[][] = [];
  let there = 0;
  for (const size of SIZES) {
    for (; there < size; there += 1) await storeOf(there).announce(life(there), TTL_MS, true);
    const onRedis = await redisCost(plan, { storeOf, admin, size, redis });
    const onNode = nodeCost(size, plan.repetitions > 1 ? 40 : 5);
    rows.push([`${size}`, ...onRedis, onNode]);
  }
  for (const store of stores) await store.close();
  admin.disconnect();
  await redis.stop();
  const costs = [
    'a renewal, µs',
    'a poll, nothing changed, µs',
    'a poll after a change, µs',
    'a poll that reads all, µs',
  ];
  const sums = [
    'fleet at rest, % of a core',
    'a change, all nodes together, ms',
    `${TOGETHER} changes in one poll, all nodes, ms`,
    'after a restart of Redis, all nodes, ms',
    'if each poll read all: a change or a restart, ms',
  ];
  return {
    title: 'Who is there: nodes of a fleet',
    text: [
      table(['members', ...costs, ...sums, 'members and assignment on a node after a change, ms'], rows),
      `CPU of Redis, and of a node in the last column. Each node renews its lease and polls every ${RENEW_MS / 1_000} s, over a connection of its own; a poll after a change reads the rows that changed.`,
    ].join('\n\n'),
  };
}

function raise(problem: string): never {
  throw new Error(problem);
}

interface Fleets {
  /** The connection of a node. */
  storeOf(n: number): RedisActorStore;
  readonly admin: Redis;
  readonly redis: RedisServer;
  readonly size: number;
}

async function redisCost(plan: Plan, fleets: Fleets): Promise<string[]> {
  const { storeOf, admin, size } = fleets;
  const calls = plan.repetitions > 1 ? 2_000 : 100;
  const cost = async (call: (n: number) => Promise<unknown>, times = calls): Promise<number> => {
    const before = await cpuUs(admin);
    for (let n = 0; n < times; n += AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, times - n) }, (_, m) => call(n + m)));
    }
    return ((await cpuUs(admin)) - before) / times;
  };
  const versionNow = async (): Promise<string> => {
    const { version } = await storeOf(0).readMembers('node-0', '');
    if (version === '') throw new Error(`${size} members have no version`);
    return version;
  };
  /** A poll of each node after some changes, which it gets alone; several times in a small fleet. */
  const pollAfter = async (changes: number): Promise<number> => {
    const rounds = Math.max(1, Math.round(calls / size));
    let sum = 0;
    for (let round = 0; round < rounds; round += 1) {
      const version = await versionNow();
      for (let n = 0; n < changes; n += 1) await storeOf(n).announce(life(n, 2 + ((round + n) % 9)), TTL_MS, false);
      const poll = async (n: number): Promise<void> => {
        const { members: found, gone } = await storeOf(n).readMembers(`node-${n}`, version);
        if (gone === null || found.length !== changes) throw new Error(`${found.length} rows for ${changes} changes`);
      };
      sum += await cost(poll, size);
    }
    for (let n = 0; n < changes; n += 1) await storeOf(n).announce(life(n), TTL_MS, false);
    return sum / rounds;
  };
  const version = await versionNow();
  const renewal = await cost((n) => storeOf(n).announce(life(n % size), TTL_MS, false));
  const poll = await cost((n) => storeOf(n).readMembers(`node-${n % size}`, version));
  const changed = await pollAfter(1);
  const together = await pollAfter(Math.min(TOGETHER, size));
  const whole = await cost((n) => storeOf(n).readMembers('node-0', ''), Math.min(calls, 200));
  const known = await versionNow();
  await restarted(fleets);
  const returned = await cost(async (n) => {
    if ((await storeOf(n).readMembers(`node-${n}`, known)).gone === null) throw new Error('a poll read all members');
  }, size);
  const atRest = (size * (renewal + poll)) / RENEW_MS / 10;
  const sums = [changed, together, returned, whole].map((us) => ((size * us) / 1_000).toFixed(us < 1_000 ? 1 : 0));
  return [...[renewal, poll, changed, whole].map((us) => us.toFixed(0)), atRest.toFixed(2), ...sums];
}

/** Kills the server, which loses nothing that it answered, starts it again and waits until every connection is back. */
async function restarted({ redis, storeOf }: Fleets): Promise<void> {
  await redis.restart();
  const answers = (store: RedisActorStore): Promise<boolean> =>
    store.now().then(
      () => true,
      () => false,
    );
  for (let n = 0; n < AT_ONCE; n += 1) await waitUntil('a connection is back', () => answers(storeOf(n)));
}

/** CPU of a node, in ms, which applies a change to its members and computes its assignment. */
function nodeCost(size: number, rounds: number): string {
  let known: readonly Member[] = Array.from({ length: size }, (_, n) => life(n)).sort((a, b) =>
    a.node < b.node ? -1 : 1,
  );
  let fleet = new Fleet(known, POOLS, null);
  fleet.assignmentOf('node-0');
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round += 1) {
    known = membersAfter(known, { members: [life(1, 2 + (round % 9))], gone: [] });
    if (fleet.isAlso(known, POOLS)) throw new Error('a change was not seen');
    fleet = new Fleet(known, POOLS, fleet);
    fleet.assignmentOf('node-0');
  }
  const { user, system } = process.cpuUsage(before);
  return ((user + system) / 1_000 / rounds).toFixed(1);
}

async function cpuUs(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1] ?? 0);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}
