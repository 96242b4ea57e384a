import { Redis } from 'ioredis';
import { isLog, isSharedLog, type Partition } from '../../../runtime/address.ts';
import { Keys } from '../../../runtime/redis/keys.ts';

interface StoreLease {
  readonly node: string;
  readonly epoch: number;
}

/**
 * Owners of the partitions as the store has them, without asking a node. Only leases that have not expired;
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
        const [own, until, epoch, shared] = await redis.hmget(keys.of(partition).meta, 'node', 'until', 'epoch', 'log');
        const log = (shared ?? '').split('\n')[0] ?? '';
        // While a partition shares a log, its lease ends with the log's.
        const [node, holds] =
          isLog(log) && isSharedLog(log) ? await redis.hmget(keys.of(log).meta, 'node', 'until') : [own, until];
        return { partition, node: node ?? '', until: Number(holds), epoch: Number(epoch) };
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
