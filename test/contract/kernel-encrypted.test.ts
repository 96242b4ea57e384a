import { EncryptedActorStore } from '../../runtime/encryption/encrypted-actor-store.ts';
import { encryptedBlobs } from '../../runtime/encryption/encrypted-blobs.ts';
import { EncryptedDocuments } from '../../runtime/encryption/encrypted-documents.ts';
import { TextCipher } from '../../runtime/encryption/text-cipher.ts';
import { TestPayloadKeys } from '../support/payload-keys.ts';
import { kernelContract } from './kernel.ts';
import { largeStatesContract } from './kernel-large-states.ts';
import { retentionContract } from './retention.ts';
import { sqliteKernel } from './sqlite-kernel.ts';

/** Fields of documents by which both the contract and the product search. */
const searched = (collection: string): readonly string[] =>
  ['archived_events', 'dead_letters'].includes(collection) ? ['address'] : [];

const setup = () =>
  sqliteKernel(({ store, documents, blobs }) => {
    const cipher = new TextCipher();
    cipher.use(new TestPayloadKeys());
    return {
      store: new EncryptedActorStore(store, cipher),
      documents: new EncryptedDocuments(documents, cipher, searched),
      blobs: encryptedBlobs(blobs, cipher),
    };
  });

kernelContract('encrypted SQLite', setup, 6);
largeStatesContract('encrypted SQLite', setup, 3);
retentionContract('encrypted SQLite', setup, 3, 3);
