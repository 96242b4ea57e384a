import { MongoDocuments } from '../../../runtime/mongo/documents.ts';
import { documentsContract } from '../../contract/documents.ts';
import { mongoMissing } from '../../support/ferretdb.ts';
import { sample } from '../../support/size.ts';
import { ownMongo } from './own-mongo.ts';

const skip = mongoMissing();

documentsContract(
  'MongoDB',
  async () => {
    const { uri, database, stop } = await ownMongo();
    const documents = new MongoDocuments({ uri, database });
    await documents.open();
    return {
      documents,
      another: () => new MongoDocuments({ uri, database }),
      async stop() {
        await documents.close();
        await stop();
      },
    };
  },
  { skip, runs: sample({ normal: 2, long: 15 }), many: sample({ normal: 2_000, long: 10_000 }) },
);

// What real MongoDB gets: conditional updates. FerretDB does them one after another on a single connection, as a scan.
documentsContract(
  'MongoDB with atomic updates',
  async () => {
    const { uri, database, mongo, stop } = await ownMongo();
    const single = mongo.external ? uri : `${uri}&maxPoolSize=1`;
    const documents = new MongoDocuments({ uri: single, database, atomicUpdates: true });
    await documents.open();
    return {
      documents,
      another: () => new MongoDocuments({ uri: single, database, atomicUpdates: true }),
      async stop() {
        await documents.close();
        await stop();
      },
    };
  },
  { skip, runs: sample({ normal: 2, long: 15 }), many: 200 },
);
