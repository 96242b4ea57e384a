import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PAYLOAD_LIMIT_BYTES } from '../../../runtime/blobs.ts';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import { EncryptedActorStore } from '../../../runtime/encryption/encrypted-actor-store.ts';
import { encryptedBlobs } from '../../../runtime/encryption/encrypted-blobs.ts';
import { EncryptedDocuments } from '../../../runtime/encryption/encrypted-documents.ts';
import { ADDED_BYTES, TextCipher } from '../../../runtime/encryption/text-cipher.ts';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { actorStoreContract } from '../../contract/actor-store.ts';
import { blobsContract } from '../../contract/blobs.ts';
import { documentsContract } from '../../contract/documents.ts';
import { TestPayloadKeys } from '../../support/payload-keys.ts';

/** As in a process of its own: it has fetched no key yet. */
function cipher(): TextCipher {
  const made = new TextCipher();
  made.use(new TestPayloadKeys());
  return made;
}

const privateDirectory = () => mkdtemp(join(tmpdir(), 'svc-encrypted-'));

actorStoreContract('an encrypted SqliteActorStore', async () => {
  const directory = await privateDirectory();
  let ahead = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
  };
  const make = () => new EncryptedActorStore(new SqliteActorStore({ directory, clock }), cipher());
  let store = make();
  await store.open();
  return {
    store,
    reopen: async () => {
      await store.close();
      store = make();
      await store.open();
      return store;
    },
    advance: async (ms) => {
      ahead += ms;
    },
    close: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
});

/** What the contract searches by without an index. */
const SEARCHED = ['n', 's', 'b', 'mixed', 'unknown', 'size', 'name'];

documentsContract(
  'encrypted SQLite',
  async () => {
    const directory = await privateDirectory();
    const make = () => new EncryptedDocuments(new SqliteDocuments({ directory }), cipher(), () => SEARCHED);
    const documents = make();
    await documents.open();
    return {
      documents,
      another: make,
      async stop() {
        await documents.close();
        await rm(directory, { recursive: true });
      },
    };
  },
  { many: 500, runs: 5 },
);

blobsContract(
  'encrypted files',
  async () => {
    const directory = await privateDirectory();
    const mostBytes = PAYLOAD_LIMIT_BYTES + ADDED_BYTES;
    const make = () => encryptedBlobs(new FileBlobs({ directory, mostBytes }), cipher());
    const blobs = make();
    await blobs.open();
    return {
      blobs,
      another: make,
      async stop() {
        await blobs.close();
        await rm(directory, { recursive: true });
      },
    };
  },
  { encrypted: true },
);
