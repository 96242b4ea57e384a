import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoDocuments } from '../../../runtime/mongo/documents.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { secretsContract } from '../../contract/secrets.ts';
import { ownMongo } from '../../runtime/mongo/own-mongo.ts';
import { mongoMissing } from '../../support/ferretdb.ts';

secretsContract('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-documents-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  return {
    documents,
    async stop() {
      await documents.close();
      await rm(directory, { recursive: true });
    },
  };
});

secretsContract(
  'MongoDB',
  async () => {
    const { uri, database, stop } = await ownMongo();
    const documents = new MongoDocuments({ uri, database });
    await documents.open();
    return {
      documents,
      async stop() {
        await documents.close();
        await stop();
      },
    };
  },
  { skip: mongoMissing() },
);
