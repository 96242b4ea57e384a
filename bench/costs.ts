import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import type { RedisServer } from '../test/support/redis.ts';

/** Resources that the processes have used since their start. */
interface Used {
  readonly redisUs: number;
  readonly workerUs: number;
  readonly clientUs: number;
  readonly commands: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly aofBytes: number;
}

/** The same for one call. CPU in microseconds of each process, commands as Redis ran them, those inside functions included. */
export type Cost = Used;

/** Linux counts CPU time in hundredths of a second. */
const US_PER_TICK = 10_000;

function cpuUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may contain spaces.
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(utime) + Number(stime)) * US_PER_TICK;
}

interface Process {
  readonly pid: number;
}

/** Reads from Redis servers and the kernel what servers, workers and a client have used, as sums by kind. */
export class CostMeter {
  readonly #servers: readonly Redis[];
  readonly #processes: Readonly<Record<'redis' | 'workers' | 'client', readonly Process[]>>;

  constructor(redis: readonly RedisServer[], workers: readonly Process[], client: Process) {
    this.#servers = redis.map(({ url }) => new Redis(url));
    this.#processes = { redis, workers, client: [client] };
  }

  async used(): Promise<Used> {
    const figures = await Promise.all(this.#servers.map((server) => figuresOf(server)));
    const { redis, workers, client } = this.#processes;
    const cpu = { redisUs: cpuOf(redis), workerUs: cpuOf(workers), clientUs: cpuOf(client) };
    return { ...cpu, ...figures.reduce(added, NOTHING) };
  }

  close(): void {
    for (const server of this.#servers) server.disconnect();
  }
}

const NOTHING = { commands: 0, bytesIn: 0, bytesOut: 0, aofBytes: 0 };

async function figuresOf(server: Redis): Promise<typeof NOTHING> {
  const [stats, persistence, commands] = await Promise.all([
    server.info('stats'),
    server.info('persistence'),
    server.info('commandstats'),
  ]);
  return {
    commands: [...commands.matchAll(/calls=(\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0),
    bytesIn: field(stats, 'total_net_input_bytes'),
    bytesOut: field(stats, 'total_net_output_bytes'),
    aofBytes: field(persistence, 'aof_current_size'),
  };
}

const added = (a: typeof NOTHING, b: typeof NOTHING): typeof NOTHING => ({
  commands: a.commands + b.commands,
  bytesIn: a.bytesIn + b.bytesIn,
  bytesOut: a.bytesOut + b.bytesOut,
  aofBytes: a.aofBytes + b.aofBytes,
});

const cpuOf = (processes: readonly Process[]): number => processes.reduce((sum, { pid }) => sum + cpuUs(pid), 0);

const field = (info: string, name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);

/** The cost of one of `calls` calls between two readings. */
export function costOf(before: Used, after: Used, calls: number): Cost {
  const each = (name: keyof Used): number => (after[name] - before[name]) / calls;
  return {
    ...{ redisUs: each('redisUs'), workerUs: each('workerUs'), clientUs: each('clientUs') },
    ...{ commands: each('commands'), bytesIn: each('bytesIn'), bytesOut: each('bytesOut'), aofBytes: each('aofBytes') },
  };
}
