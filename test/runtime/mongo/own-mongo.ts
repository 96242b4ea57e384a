import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { startMongo, type TestMongo } from '../../support/ferretdb.ts';

/** A server and a database name of its own, dropped at the end when the server is not ours. */
export interface OwnMongo {
  readonly mongo: TestMongo;
  readonly uri: string;
  readonly database: string;
  stop(): Promise<void>;
}

export async function ownMongo(): Promise<OwnMongo> {
  const mongo = await startMongo();
  const database = `svc_test_${randomUUID().slice(0, 8)}`;
  return {
    mongo,
    uri: mongo.uri,
    database,
    async stop() {
      if (mongo.external) {
        const client = new MongoClient(mongo.uri);
        await client.db(database).dropDatabase();
        await client.close();
      }
      await mongo.stop();
    },
  };
}
