import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { type KernelStores, kernelContract } from './kernel.ts';
import { largeStatesContract } from './kernel-large-states.ts';
import { retentionContract } from './retention.ts';

async function setup(): Promise<KernelStores> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-kernel-'));
  return {
    async open() {
      const store = new SqliteActorStore({ directory });
      const documents = new SqliteDocuments({ directory });
      const blobs = new FileBlobs({ directory });
      await store.open();
      await documents.open();
      await blobs.open();
      const effects = new EmbeddedEffectQueue({
        ledger: store,
        clock: systemClock,
        onFault: (error, job) => console.error('effect', job.id, error),
      });
      await effects.open();
      return {
        store,
        documents,
        blobs,
        effects,
        async close() {
          await effects.close();
          await store.close();
          await documents.close();
          await blobs.close();
        },
      };
    },
    destroy: () => rm(directory, { recursive: true, force: true }),
  };
}

kernelContract('SQLite', setup);
largeStatesContract('SQLite', setup);
retentionContract('SQLite', setup);
