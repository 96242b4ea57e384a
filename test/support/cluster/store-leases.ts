import { Redis } from 'ioredis';
import type { Partition } from '../../../runtime/address.ts';
import { Keys } from '../../../runtime/redis/keys.ts';

export interface StoreLease {
  readonly node: string;
  readonly epoch: number;
}

/**
 * Who holds which partition by the store itself: what a node believes is not asked. Leases that ran out are left out;
 * empty while Redis does not answer.
 */
export async function storeLeases(port: number, partitions: readonly Partition[]): Promise<Map<Partition, StoreLease>> {
  const redis = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => {});
  try {
    await redis.connect();
    const keys = new Keys('svc');
    const [seconds] = await redis.time();
    const rows = await Promise.all(
      partitions.map(async (partition) => {
        const [node, until, epoch] = await redis.hmget(keys.of(partition).meta, 'node', 'until', 'epoch');
        return { partition, node: node ?? '', until: Number(until), epoch: Number(epoch) };
      }),
    );
    const live = rows.filter(({ node, until }) => node !== '' && until > Number(seconds) * 1_000);
    return new Map(live.map(({ partition, node, epoch }) => [partition, { node, epoch }]));
  } catch {
    return new Map();
  } finally {
    redis.disconnect();
  }
}
