import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from './redis.ts';

const run = promisify(execFile);

export interface RedisClusterServers {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

/** A real Redis Cluster on loopback: three masters, no replicas. */
export async function startRedisCluster(): Promise<RedisClusterServers> {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
  const nodes: RedisServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    for (let n = 0; n < 3; n += 1) nodes.push(await startRedis({ args }));
    const hosts = nodes.map((node) => `127.0.0.1:${node.port}`);
    await run('redis-cli', ['--cluster', 'create', ...hosts, '--cluster-yes'], { timeout: 30_000 });
    await Promise.all(nodes.map((node) => joined(node.port)));
    return { url: `redis+cluster://${hosts.join(',')}`, nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function joined(port: number): Promise<void> {
  const probe = new Redis({ host: '127.0.0.1', port });
  const deadline = Date.now() + 15_000;
  try {
    while (!String(await probe.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
      if (Date.now() > deadline) throw new Error(`redis-server on port ${port} did not join the cluster within 15 s`);
      await pause(50);
    }
  } finally {
    probe.disconnect();
  }
}
