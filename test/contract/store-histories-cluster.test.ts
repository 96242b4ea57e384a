import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { Redis } from 'ioredis';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { redisMissing } from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisWire, type WireRates } from '../support/redis-wire.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { storeHistories } from './store-histories.ts';

/** Longest that a mark takes, ms. */
const MARKED_WITHIN_MS = 10_000;

describe('histories over a bad network', { skip: redisMissing() ?? false }, () => {
  storeHistories(
    'Redis Cluster',
    async (random) => {
      const directory = await mkdtemp(join(tmpdir(), 'svc-histories-'));
      const servers = await startRedisCluster({
        args: ['--appendonly', 'no'],
        // Claims are tested by another contract.
        wire: (port) => startRedisWire(port, random, (name) => name.endsWith('_claim_effect')),
      });
      const [documents, blobs] = [new SqliteDocuments({ directory }), new FileBlobs({ directory })];
      // Clients discover the masters only through the proxies in front of them.
      const direct = new RedisActorStore({ urls: servers.url });
      for (const port of [documents, blobs, direct]) await port.open();
      const admins = servers.nodes.map(({ url }) => {
        const admin = new Redis(url);
        // It comes back by itself after a restart of its server.
        admin.on('error', () => {});
        return admin;
      });
      const setRates = (rates: WireRates): void => {
        for (const wire of servers.wires) Object.assign(wire.rates, rates);
      };
      return {
        ...{ documents, blobs, direct: () => direct, inProcess: false },
        async open() {
          const store = new RedisActorStore({ urls: servers.url });
          await store.open();
          return store;
        },
        disturb: () => setRates({ twice: 0.04, late: 0.04, answerLost: 0.01, orphaned: 0.01 }),
        async calm() {
          setRates({ twice: 0, late: 0, answerLost: 0, orphaned: 0 });
          await Promise.all(servers.wires.map((wire) => wire.deliverLate()));
        },
        /** No writes happen between the first copy and the last: a message in transit is in one of them. */
        async mark() {
          await Promise.all(admins.map((admin) => admin.call('CLIENT', 'PAUSE', MARKED_WITHIN_MS, 'WRITE')));
          await Promise.all(admins.map((admin) => admin.save()));
          await Promise.all(admins.map((admin) => admin.call('CLIENT', 'UNPAUSE')));
        },
        async goBack() {
          await servers.restart();
          await waitUntil('the store answers', () => direct.now().catch(() => false));
        },
        async close() {
          for (const admin of admins) admin.disconnect();
          for (const port of [documents, blobs, direct]) await port.close();
          await servers.stop();
          await rm(directory, { recursive: true, force: true });
        },
      };
    },
    sample({ normal: 1, long: 2 }),
  );
});
