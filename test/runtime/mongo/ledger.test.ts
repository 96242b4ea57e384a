import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { MongoDocuments } from '../../../runtime/mongo/documents.ts';
import { ledgerContract } from '../../contract/ledger.ts';
import { mongoMissing, startMongo, type TestMongo } from '../../support/ferretdb.ts';
import { sample } from '../../support/size.ts';

const skip = mongoMissing();
let mongo: TestMongo;

before(async () => {
  if (skip === false) mongo = await startMongo();
});
after(async () => {
  if (skip === false) await mongo.stop();
});

ledgerContract(
  'MongoDB',
  async () => {
    const documents = new MongoDocuments({ uri: mongo.uri, database: `svc_test_${randomUUID().slice(0, 8)}` });
    await documents.open();
    return { documents, stop: () => documents.close() };
  },
  { skip, runs: sample({ normal: 2, long: 20 }) },
);
