import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MongoClient } from 'mongodb';
import { MongoDocuments } from '../../../runtime/mongo/documents.ts';
import { mongoMissing } from '../../support/ferretdb.ts';
import { ownMongo } from './own-mongo.ts';

const COUNT = 1_000;

// Others use a server that is not ours: its commands are not only those of this test.
const skip = mongoMissing() || (process.env.MONGODB_URI === undefined ? false : 'counts commands of its own server');

test('a page of a thousand documents is one answer of the server, not a first batch and the rest', {
  skip,
}, async (t) => {
  const { uri, database, stop } = await ownMongo();
  t.after(stop);
  const documents = new MongoDocuments({ uri, database });
  await documents.open();
  t.after(() => documents.close());
  const watcher = new MongoClient(uri);
  t.after(() => watcher.close());
  const rows = await documents.collection({ name: 'pages', unique: [], indexes: [] });
  await rows.putMany(Array.from({ length: COUNT }, (_, at) => ({ tenant: 'acme', id: `${at}`, version: 1 })));

  const furtherBatches = async (): Promise<number> => {
    const { metrics } = await watcher.db(database).command({ serverStatus: 1 });
    return Number(metrics.commands.getMore?.total ?? 0);
  };
  const before = await furtherBatches();
  const found = await rows.find({ tenant: 'acme', limit: COUNT });

  assert.equal(found.length, COUNT);
  assert.equal(await furtherBatches(), before);
});
