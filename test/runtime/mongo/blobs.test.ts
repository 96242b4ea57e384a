import { MongoBlobs } from '../../../runtime/mongo/blobs.ts';
import { blobsContract } from '../../contract/blobs.ts';
import { mongoMissing } from '../../support/ferretdb.ts';
import { ownMongo } from './own-mongo.ts';

blobsContract(
  'GridFS',
  async () => {
    const { uri, database, stop } = await ownMongo();
    const blobs = new MongoBlobs({ uri, database });
    await blobs.open();
    return {
      blobs,
      another: () => new MongoBlobs({ uri, database }),
      async stop() {
        await blobs.close();
        await stop();
      },
    };
  },
  { skip: mongoMissing() },
);
