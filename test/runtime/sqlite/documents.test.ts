import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { blobsContract } from '../../contract/blobs.ts';
import { documentsContract } from '../../contract/documents.ts';

const privateDirectory = () => mkdtemp(join(tmpdir(), 'svc-documents-'));

for (const [name, threadFromRows] of [
  ['SQLite, written by the thread of turns', Number.POSITIVE_INFINITY],
  ['SQLite, written by a thread of its own', 0],
  ['SQLite, written by the one and by the other', 20],
] as const) {
  documentsContract(name, async () => {
    const directory = await privateDirectory();
    const documents = new SqliteDocuments({ directory, threadFromRows, quietMs: 5 });
    await documents.open();
    return {
      documents,
      another: () => new SqliteDocuments({ directory, threadFromRows }),
      async stop() {
        await documents.close();
        await rm(directory, { recursive: true });
      },
    };
  });
}

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
