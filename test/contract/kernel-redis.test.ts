import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { type OpenStores, openStores, type StoreLocation } from '../../runtime/open-stores.ts';
import { startMongo } from '../support/ferretdb.ts';
import { startRedis } from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { type KernelStores, kernelContract } from './kernel.ts';
import { largeStatesContract } from './kernel-large-states.ts';
import { retentionContract } from './retention.ts';

const missing = serversMissing();

/** A fleet without nodes of an older format: payloads that are stored separately belong to their actor. */
async function openContracted(location: StoreLocation): Promise<OpenStores> {
  const stores = await openStores(location);
  await stores.formats.contract();
  return stores;
}

/** Redis of the given shape, BullMQ on it, and a MongoDB-wire server: what a fleet runs on. */
async function setup(startServers: () => Promise<{ url: string; stop(): Promise<void> }>): Promise<KernelStores> {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-kernel-'));
  const [redis, mongo] = await Promise.all([startServers(), startMongo()]);
  return {
    open: () =>
      openContracted({
        dataDir,
        redis: [redis.url],
        mongodb: mongo.uri,
        warn: (message, error) => console.error(message, error ?? ''),
      }),
    async destroy() {
      await Promise.all([redis.stop(), mongo.stop(), rm(dataDir, { recursive: true, force: true })]);
    },
  };
}

describe('kernel on real servers', { skip: missing || false }, () => {
  kernelContract('Redis, BullMQ and a MongoDB-wire server', () => setup(() => startRedis({ appendfsync: 'always' })));
  kernelContract('Redis Cluster, BullMQ and a MongoDB-wire server', () => setup(() => startRedisCluster()), 6);
  const redis = () => setup(() => startRedis({ appendfsync: 'always' }));
  largeStatesContract('Redis and a MongoDB-wire server', redis, 3);
  retentionContract('Redis and a MongoDB-wire server', redis, 3, 3);
});
