import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { freeRedisPort, type RedisServer, startRedis } from './redis.ts';
import { waitUntil } from './wait-until.ts';

const run = promisify(execFile);

/** A proxy in front of a server's port. */
interface Way {
  readonly port: number;
  close(): Promise<void>;
}

export interface RedisClusterServers<W extends Way = Way> {
  readonly url: string;
  /** The masters, then their replicas. */
  readonly nodes: readonly RedisServer[];
  /** One in front of each master, if requested; clients know only these ports. */
  readonly wires: readonly W[];
  /** Ends all with kill -9 and starts them again; resolves when they are one cluster again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

interface RedisClusterOptions<W extends Way> {
  /** Each server announces the port of its proxy. */
  readonly wire?: (port: number) => Promise<W>;
  /** More `redis-server` arguments. */
  readonly args?: readonly string[];
  /** Replicas of each master; none by default. */
  readonly replicas?: number;
}

const MASTERS = 3;

/** A real Redis Cluster on loopback, of three masters. */
export async function startRedisCluster<W extends Way = Way>(
  options: RedisClusterOptions<W> = {},
): Promise<RedisClusterServers<W>> {
  const { wire: makeWire, args: more = [], replicas = 0 } = options;
  const nodes: RedisServer[] = [];
  const wires: W[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(wires.map((wire) => wire.close()));
    await Promise.all(nodes.map((node) => node.stop()));
  };
  const restart = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()));
    await Promise.all(nodes.map((node) => node.restart()));
    await Promise.all(nodes.map((node) => joined(node.port)));
  };
  try {
    for (let n = 0; n < MASTERS * (1 + replicas); n += 1) {
      const port = await freeRedisPort();
      const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000', ...more];
      if (makeWire !== undefined) {
        const wire = await makeWire(port);
        wires.push(wire);
        args.push('--cluster-announce-port', `${wire.port}`, '--cluster-announce-bus-port', `${port + 10_000}`);
      }
      nodes.push(await startRedis({ port, args }));
    }
    const hosts = nodes.map((node) => `127.0.0.1:${node.port}`);
    const create = ['--cluster', 'create', ...hosts, '--cluster-replicas', String(replicas), '--cluster-yes'];
    await run('redis-cli', create, { timeout: 30_000 });
    await Promise.all(nodes.map((node) => joined(node.port)));
    const ways = wires.length > 0 ? wires.map((wire) => `127.0.0.1:${wire.port}`) : hosts;
    return { url: `redis+cluster://${ways.join(',')}`, nodes, wires, restart, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function joined(port: number): Promise<void> {
  const probe = new Redis({ host: '127.0.0.1', port });
  try {
    await waitUntil(`redis-server on port ${port} to join the cluster`, async () =>
      String(await probe.call('CLUSTER', 'INFO')).includes('cluster_state:ok'),
    );
  } finally {
    probe.disconnect();
  }
}
