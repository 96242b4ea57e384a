import { Redis } from 'ioredis';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { startRedis } from '../../test/support/redis.ts';
import { type Plan, type Section, table } from '../report.ts';

const SIZES = [100, 300, 1_000, 3_000];
const TTL_MS = 600_000;
const RENEW_MS = 2_000;
/** Calls in flight: those of one tick share a call of Redis. */
const AT_ONCE = 16;
const CARD = JSON.stringify({
  role: 'worker',
  tags: ['gpu', 'eu'],
  weight: 1,
  version: '0.1.0',
  pulse: '10.0.0.1:7301',
});

/** The load of membership on Redis: renewals and reads of the nodes, by the size of the fleet. */
export async function members(plan: Plan): Promise<Section> {
  const calls = plan.repetitions > 1 ? 2_000 : 100;
  const redis = await startRedis({ appendfsync: 'everysec' });
  const admin = new Redis(redis.url);
  const store = new RedisActorStore({ urls: redis.url });
  await store.open();
  const rows: string[][] = [];
  let there = 0;
  const life = (n: number) => ({ node: `node-${n}`, incarnation: `life-${n}`, card: CARD });
  for (const size of SIZES) {
    for (; there < size; there += 1) await store.announce(life(there), TTL_MS, true);
    const { version } = await store.readMembers('node-0', '');
    if (version === '') throw new Error(`${size} members have no version`);
    const cost = async (call: (n: number) => Promise<unknown>, times = calls): Promise<number> => {
      const before = await cpuUs(admin);
      for (let n = 0; n < times; n += AT_ONCE) {
        await Promise.all(Array.from({ length: Math.min(AT_ONCE, times - n) }, (_, m) => call(n + m)));
      }
      return ((await cpuUs(admin)) - before) / times;
    };
    const renewal = await cost((n) => store.announce(life(n % size), TTL_MS, false));
    const look = await cost((n) => store.readMembers(`node-${n % size}`, version));
    const whole = await cost(() => store.readMembers('node-0', ''), Math.min(calls, 200));
    const fleet = (size * (renewal + look)) / RENEW_MS / 10;
    const change = (size * whole) / 1_000;
    rows.push([`${size}`, ...[renewal, look, whole].map((us) => us.toFixed(0)), fleet.toFixed(2), change.toFixed(0)]);
  }
  await store.close();
  admin.disconnect();
  await redis.stop();
  const head = ['members', 'a renewal, µs', 'a look, nothing changed, µs', 'a look that reads all, µs'];
  return {
    title: 'Who is there: nodes of a fleet',
    text: [
      table([...head, 'fleet at rest, % of a core', 'a node comes or goes: all look, ms'], rows),
      `CPU of Redis. Each node renews its lease and looks every ${RENEW_MS / 1_000} s; a look reads all members only when a node came, went or changed.`,
    ].join('\n\n'),
  };
}

async function cpuUs(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1] ?? 0);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}
