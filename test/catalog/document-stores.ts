import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Documents } from '../../runtime/documents.ts';
import { MongoDocuments } from '../../runtime/mongo/documents.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { ownMongo } from '../runtime/mongo/own-mongo.ts';
import { mongoMissing } from '../support/ferretdb.ts';

export interface OpenedStore {
  readonly documents: Documents;
  /** Closes it and removes its data. */
  stop(): Promise<void>;
}

interface DocumentStore {
  readonly name: 'SQLite' | 'FerretDB';
  readonly skip: string | false;
  /** Of the tests that both stores pass, every `nth` runs on this one in a normal run. */
  readonly nth: number;
  open(): Promise<OpenedStore>;
}

export async function openSqlite(): Promise<OpenedStore> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-catalog-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  const stop = async () => {
    await documents.close();
    await rm(directory, { recursive: true });
  };
  return { documents, stop };
}

async function openFerretDb(): Promise<OpenedStore> {
  const { uri, database, stop } = await ownMongo();
  const documents = new MongoDocuments({ uri, database });
  await documents.open();
  return { documents, stop: () => documents.close().then(stop) };
}

/** The stores for all tests of documents. */
export const DOCUMENT_STORES: readonly DocumentStore[] = [
  { name: 'SQLite', skip: false, nth: 1, open: openSqlite },
  { name: 'FerretDB', skip: mongoMissing(), nth: 5, open: openFerretDb },
];
