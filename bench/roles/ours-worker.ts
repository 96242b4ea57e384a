import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { counter } from '../counter.ts';
import { roleOptions, serveRole } from '../role.ts';

/** Serves counters from Redis. Documents are SQLite here, so that the figures are those of the kernel and Redis. */
const { url, ledger } = roleOptions<{ url: string; ledger: boolean }>();
const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
const store = new RedisActorStore({ urls: url });
const documents = new SqliteDocuments({ directory });
const blobs = new FileBlobs({ directory });
await Promise.all([store.open(), documents.open(), blobs.open()]);
const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: console.error });
await effects.open();
const runtime = await startRuntime({
  store,
  documents,
  blobs,
  effects,
  definitions: [counter],
  handlers: [],
  node: 'bench-worker',
  settings: { partitions: 256, ledger },
  warn: (message, error) => console.error(message, error),
});

serveRole(
  async () => ({ rss: process.memoryUsage().rss }),
  async () => {
    await runtime.stop();
    await Promise.all([effects.close(), store.close(), documents.close(), blobs.close()]);
    await rm(directory, { recursive: true, force: true });
  },
);
