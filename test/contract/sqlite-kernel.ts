import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorStore } from '../../runtime/actor-store.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import type { KernelStores } from './kernel.ts';

interface Ports {
  readonly store: ActorStore;
  readonly documents: Documents;
  readonly blobs: Blobs;
}

/** The ports of an embedded node in a fresh directory; `wrap` may put a layer over them. */
export async function sqliteKernel(wrap: (ports: Ports) => Ports = (ports) => ports): Promise<KernelStores> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-kernel-'));
  return {
    async open() {
      const { store, documents, blobs } = wrap({
        store: new SqliteActorStore({ directory }),
        documents: new SqliteDocuments({ directory }),
        blobs: new FileBlobs({ directory }),
      });
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
