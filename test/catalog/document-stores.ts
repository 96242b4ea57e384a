import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Documents } from '../../runtime/documents.ts';
import { MongoDocuments } from '../../runtime/mongo/documents.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { mongoRig } from '../runtime/mongo/rig.ts';
import { mongoMissing } from '../support/ferretdb.ts';

export interface DocumentStore {
  readonly name: string;
  readonly skip: string | false;
  open(): Promise<{ readonly documents: Documents; stop(): Promise<void> }>;
}

/** The stores under every test of the catalog. */
export const DOCUMENT_STORES: readonly DocumentStore[] = [
  {
    name: 'SQLite',
    skip: false,
    async open() {
      const directory = await mkdtemp(join(tmpdir(), 'svc-catalog-'));
      const documents = new SqliteDocuments({ directory });
      await documents.open();
      const stop = async () => {
        await documents.close();
        await rm(directory, { recursive: true });
      };
      return { documents, stop };
    },
  },
  {
    name: 'FerretDB',
    skip: await mongoMissing(),
    async open() {
      const { uri, database, stop } = await mongoRig();
      const documents = new MongoDocuments({ uri, database });
      await documents.open();
      return { documents, stop: () => documents.close().then(stop) };
    },
  },
];
