import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Redis } from 'ioredis';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { redisMissing, startRedis } from '../support/redis.ts';
import { startRedisWire } from '../support/redis-wire.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { storeHistories } from './store-histories.ts';

describe('histories over a bad network', { skip: redisMissing() ?? false }, () => {
  storeHistories(
    'Redis',
    async (random) => {
      const directory = await mkdtemp(join(tmpdir(), 'svc-histories-'));
      // A restart returns it to the last SAVE, without any later write.
      const server = await startRedis({ args: ['--appendonly', 'no'] });
      // Claims are tested by another contract.
      const wire = await startRedisWire(server.port, random, (name) => name.endsWith('_claim_effect'));
      const [documents, blobs] = [new SqliteDocuments({ directory }), new FileBlobs({ directory })];
      const direct = new RedisActorStore({ urls: server.url });
      for (const port of [documents, blobs, direct]) await port.open();
      const admin = new Redis(server.url);
      // It comes back by itself after a restart of its server.
      admin.on('error', () => {});
      return {
        ...{ documents, blobs, direct: () => direct, inProcess: false },
        async open() {
          const store = new RedisActorStore({ urls: `redis://127.0.0.1:${wire.port}` });
          await store.open();
          return store;
        },
        disturb() {
          Object.assign(wire.rates, { twice: 0.04, late: 0.04, answerLost: 0.01, orphaned: 0.01 });
        },
        async calm() {
          Object.assign(wire.rates, { twice: 0, late: 0, answerLost: 0, orphaned: 0 });
          await wire.deliverLate();
        },
        async mark() {
          await admin.save();
        },
        async goBack() {
          await server.restart();
          await waitUntil('the store answers', () => direct.now().catch(() => false));
        },
        async close() {
          admin.disconnect();
          for (const port of [documents, blobs, direct]) await port.close();
          await wire.close();
          await server.stop();
          await rm(directory, { recursive: true, force: true });
        },
      };
    },
    sample({ normal: 2, long: 6 }),
  );
});
