import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { redisMissing, startRedis } from '../support/redis.ts';
import { kernelFaults } from './kernel-faults.ts';

describe('kernel under faults', { skip: redisMissing() ?? false }, () => {
  kernelFaults(
    'Redis',
    async () => {
      const directory = await mkdtemp(join(tmpdir(), 'svc-faults-'));
      const redis = await startRedis({ appendfsync: 'always' });
      const store = new RedisActorStore({ urls: [redis.url], warn: () => {} });
      const documents = new SqliteDocuments({ directory });
      const blobs = new FileBlobs({ directory });
      const ports = [store, documents, blobs];
      for (const port of ports) await port.open();
      return {
        store,
        documents,
        blobs,
        async close() {
          for (const port of ports) await port.close();
          await redis.stop();
          await rm(directory, { recursive: true, force: true });
        },
      };
    },
    { clients: 6, calls: 25 },
  );
});
