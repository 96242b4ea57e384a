import { BullmqEffectQueue } from '../../runtime/redis/bullmq-effect-queue.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { serveProfiled } from '../profile.ts';
import { roleOptions } from '../role.ts';
import { benchedActor, noOpCommand, type Steps } from '../workflows/five-steps.ts';

/** Serves workflows from Redis, their effects through BullMQ. Documents are in SQLite, so that no third server is measured. */
const { url, directory, steps } = roleOptions<{ url: string; directory: string; steps: Steps }>();
const store = new RedisActorStore({ urls: url });
const documents = new SqliteDocuments({ directory });
const blobs = new FileBlobs({ directory });
const warn = (message: string, error: unknown): void => console.error(message, error);
const effects = new BullmqEffectQueue({ urls: url, ledger: store, onFault: (error) => warn('effect queue', error) });
await Promise.all([store.open(), documents.open(), blobs.open(), effects.open()]);
const runtime = await startRuntime({
  ...{ store, documents, blobs, effects, warn },
  definitions: [benchedActor(steps)],
  handlers: [noOpCommand],
  node: 'bench-worker',
  settings: { partitions: 256, effectConcurrency: 256 },
});

await serveProfiled(
  async () => ({ effects: runtime.counts().effects.done }),
  async () => {
    await runtime.stop();
    await effects.close();
    await Promise.all([store.close(), documents.close(), blobs.close()]);
  },
);
