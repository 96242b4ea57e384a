import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { type RedisServer, startRedis } from './redis.ts';
import { ServerProcess } from './server-process.ts';
import { waitUntil } from './wait-until.ts';

interface RedisSentinelServers {
  readonly url: string;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  stop(): Promise<void>;
}

export interface RedisSentinelOptions {
  /** How long the master must be silent before the Sentinel fails over. Default: two seconds. */
  readonly downAfterMs?: number;
}

/** A master, its replica and one Sentinel that fails over; loopback only. */
export async function startRedisSentinel({
  downAfterMs = 2_000,
}: RedisSentinelOptions = {}): Promise<RedisSentinelServers> {
  const master = await startRedis();
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
  const directory = await mkdtemp(join(tmpdir(), 'svc-sentinel-'));
  const port = await freePort();
  const file = join(directory, 'sentinel.conf');
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor main 127.0.0.1 ${master.port} 1`,
    `sentinel down-after-milliseconds main ${downAfterMs}`,
    'sentinel failover-timeout main 3000',
  ];
  await writeFile(file, `${settings.join('\n')}\n`);
  const sentinel = new ServerProcess('the Sentinel', 'redis-server', [file, '--sentinel']);
  const stop = async (): Promise<void> => {
    await sentinel.end();
    await Promise.all([master.stop(), replica.stop()]);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await replicaKnown(port);
    return { url: `redis+sentinel://127.0.0.1:${port}/main`, master, replica, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A Sentinel can fail over only once it has found the replica and the replica is in step. */
async function replicaKnown(port: number): Promise<void> {
  const probe = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50 });
  probe.on('error', () => {});
  try {
    await waitUntil('the Sentinel to find a replica in step', async () =>
      JSON.stringify(await probe.call('SENTINEL', 'REPLICAS', 'main')).includes('"master-link-status","ok"'),
    );
  } finally {
    probe.disconnect();
  }
}
