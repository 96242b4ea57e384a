import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { EncryptedActorStore } from '../../runtime/encryption/encrypted-actor-store.ts';
import { encryptedBlobs } from '../../runtime/encryption/encrypted-blobs.ts';
import { EncryptedDocuments } from '../../runtime/encryption/encrypted-documents.ts';
import { TextCipher } from '../../runtime/encryption/text-cipher.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { TestPayloadKeys } from '../support/payload-keys.ts';
import { type KernelStores, kernelContract } from './kernel.ts';
import { largeStatesContract } from './kernel-large-states.ts';
import { retentionContract } from './retention.ts';

/** What the contract searches by and the product does too. */
const searched = (collection: string): readonly string[] =>
  ['archived_events', 'dead_letters'].includes(collection) ? ['address'] : [];

async function setup(): Promise<KernelStores> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-kernel-'));
  return {
    async open() {
      const cipher = new TextCipher();
      cipher.use(new TestPayloadKeys());
      const store = new EncryptedActorStore(new SqliteActorStore({ directory }), cipher);
      const documents = new EncryptedDocuments(new SqliteDocuments({ directory }), cipher, searched);
      const blobs = encryptedBlobs(new FileBlobs({ directory }), cipher);
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

kernelContract('encrypted SQLite', setup, 6);
largeStatesContract('encrypted SQLite', setup, 3);
retentionContract('encrypted SQLite', setup, 3, 3);
