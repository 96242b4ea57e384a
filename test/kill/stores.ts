import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenStores, openStores, type StoreLocation } from '../../runtime/open-stores.ts';
import { startMongo } from '../support/ferretdb.ts';
import { startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';

export type StoreKind = 'sqlite' | 'redis';

/** Stores that outlive the nodes of a test: a directory, or servers as well. */
export interface KillStores {
  readonly location: Omit<StoreLocation, 'warn'>;
  /** As arguments of main.ts. */
  readonly args: readonly string[];
  /** Data directories of the servers that the test starts, beside the data directory of the node. */
  readonly directories: readonly string[];
  destroy(): Promise<void>;
}

/** False when the stores are available, else the reason. */
export function storesMissing(kind: StoreKind): string | false {
  return kind === 'sqlite' ? false : serversMissing();
}

/** `redis` is Redis with `appendfsync always`, BullMQ on it, and a MongoDB-wire server. */
export async function startStores(kind: StoreKind): Promise<KillStores> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-kill-data-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  if (kind === 'sqlite') {
    return { location: { dataDir: directory }, args: ['--data', directory], directories: [], destroy: remove };
  }
  const [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
  return {
    location: { dataDir: directory, redis: [redis.url], mongodb: mongo.uri },
    args: ['--data', directory, '--redis', redis.url, '--mongodb', mongo.uri],
    directories: mongo.directory === null ? [] : [mongo.directory],
    async destroy() {
      await Promise.all([redis.stop(), mongo.stop()]);
      await remove();
    },
  };
}

/** Opens the stores of a stopped node for `read`, and closes them afterwards. */
export async function readStores<T>(
  location: KillStores['location'],
  read: (stores: OpenStores) => Promise<T>,
): Promise<T> {
  const warn = (message: string, error: unknown): void => console.error(message, error ?? '');
  const stores = await openStores({ ...location, warn });
  try {
    return await read(stores);
  } finally {
    await stores.close();
  }
}
