import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { blobsContract } from '../../contract/blobs.ts';
import { documentsContract } from '../../contract/documents.ts';

const privateDirectory = () => mkdtemp(join(tmpdir(), 'svc-documents-'));

documentsContract('SQLite', async () => {
  const directory = await privateDirectory();
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  return {
    documents,
    another: () => new SqliteDocuments({ directory }),
    async stop() {
      await documents.close();
      await rm(directory, { recursive: true });
    },
  };
});

blobsContract('files', async () => {
  const directory = await privateDirectory();
  const blobs = new FileBlobs({ directory });
  await blobs.open();
  return {
    blobs,
    another: () => new FileBlobs({ directory }),
    async stop() {
      await blobs.close();
      await rm(directory, { recursive: true });
    },
  };
});
