import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { MongoClient, MongoServerError } from 'mongodb';
import type { Documents } from '../../runtime/documents.ts';
import { MongoDocuments } from '../../runtime/mongo/documents.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { mongoMissing, startMongo, type TestMongo } from '../../test/support/ferretdb.ts';

/** Name of the store that scans whole collections for every query, FerretDB 1. */
export const FERRETDB = 'FerretDB as it is';

const ANSWERS_WITHIN_MS = 5_000;

/** A document store that is measured. */
export interface BenchStore {
  readonly name: string;
  readonly documents: Documents;
  /** Whether a find uses an index: FerretDB 1 reads the whole collection, so lists are short there. */
  readonly isIndexed: boolean;
  /** Whether a read by key is. */
  readonly hasKeyIndex: boolean;
  /** Called when the collections exist. */
  ready(): void;
  stop(): Promise<void>;
}

export interface BenchStoreKind {
  readonly name: string;
  open(): Promise<BenchStore>;
}

/**
 * SQLite, and the MongoDB-wire server that can be had: FerretDB as it is and with an index on `_id`, or `MONGODB_URI`.
 * `SVC_BENCH_STORE=NAME` measures that store alone.
 */
export async function benchStores(): Promise<BenchStoreKind[]> {
  const only = process.env.SVC_BENCH_STORE;
  return (await allStores()).filter(({ name }) => only === undefined || name === only);
}

async function allStores(): Promise<BenchStoreKind[]> {
  const embedded: BenchStoreKind = { name: 'SQLite', open: openSqlite };
  const missing = mongoMissing();
  if (missing !== false) {
    console.error(missing);
    return [embedded];
  }
  const given = process.env.MONGODB_URI;
  if (given !== undefined) {
    const name = await programAt(given);
    const how = name === FERRETDB ? 'as it is' : 'external';
    return [embedded, { name, open: () => openMongo(name, how) }];
  }
  const names = { asItIs: FERRETDB, withIdIndex: 'FerretDB, index on _id' } as const;
  return [
    embedded,
    { name: names.asItIs, open: () => openMongo(names.asItIs, 'as it is') },
    { name: names.withIdIndex, open: () => openMongo(names.withIdIndex, 'with the index') },
  ];
}

async function dropDatabase(uri: string, database: string): Promise<void> {
  const client = new MongoClient(uri);
  try {
    await client.db(database).dropDatabase();
  } finally {
    await client.close();
  }
}

/** The program at `MONGODB_URI`, since several speak MongoDB's protocol. Its errors do not contain the URI. */
export async function programAt(uri: string): Promise<string> {
  let client: MongoClient;
  try {
    client = new MongoClient(uri, { serverSelectionTimeoutMS: ANSWERS_WITHIN_MS });
  } catch {
    // The driver quotes what it does not understand, which may be a part of a password.
    throw new Error('MONGODB_URI is no connection string that the MongoDB driver takes');
  }
  try {
    // A server gives its version without credentials; only a list of databases shows that they are right.
    await client.db('admin').command({ listDatabases: 1, nameOnly: true });
    const { ferretdb, ferretdbVersion, version } = await client.db('admin').command({ buildInfo: 1 });
    // Only FerretDB 1 has this command, and a build from its module does not know its version.
    if (ferretdbVersion !== undefined) return FERRETDB;
    return ferretdb === undefined ? `MongoDB ${version}` : `FerretDB ${ferretdb.version}`;
  } catch (error) {
    throw new Error(`the server that MONGODB_URI names cannot be used: ${reasonOf(error)}`);
  } finally {
    await client.close();
  }
}

/** With an own message: the driver's names hosts, and takes a part of a password with an `@` for one. */
function reasonOf(error: unknown): string {
  if (error instanceof MongoServerError) return `it refused a command (${error.codeName ?? `code ${error.code}`})`;
  for (let at = error; at instanceof Error; at = at.cause) {
    if ('code' in at && /^E[A-Z_]+$/.test(String(at.code))) return `no answer (${at.code})`;
  }
  return `no answer within ${ANSWERS_WITHIN_MS} ms`;
}

async function openSqlite(): Promise<BenchStore> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-lists-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  return {
    ...{ name: 'SQLite', documents, isIndexed: true, hasKeyIndex: true },
    ready: () => undefined,
    async stop() {
      await documents.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function openMongo(name: string, how: 'external' | 'as it is' | 'with the index'): Promise<BenchStore> {
  const server = await startMongo();
  const database = `svc_bench_${process.pid}`;
  const documents = new MongoDocuments({ uri: server.uri, database });
  await documents.open();
  return {
    ...{ name, documents, isIndexed: how === 'external', hasKeyIndex: how !== 'as it is' },
    ready: () => (how === 'with the index' ? indexIds(server, database) : undefined),
    async stop() {
      await documents.close();
      if (server.external) await dropDatabase(server.uri, database);
      await server.stop();
    },
  };
}

/**
 * FerretDB 1 asks its SQLite file for `_ferretdb_sjson->'$._id'`, and its own index is on `_ferretdb_sjson->"_id"`, which
 * SQLite takes for another expression: a read by `_id` is a scan (decision 0020). The index it misses is made in its file.
 */
function indexIds({ directory }: TestMongo, database: string): void {
  if (directory === null) return;
  const file = new DatabaseSync(join(directory, `${database}.sqlite`), { timeout: 20_000 });
  const tables = file.prepare('SELECT table_name AS name FROM _ferretdb_collections').all();
  for (const { name } of tables)
    file.exec(`CREATE INDEX IF NOT EXISTS "${name}_by_id" ON "${name}" (_ferretdb_sjson->'$._id')`);
  file.close();
}
