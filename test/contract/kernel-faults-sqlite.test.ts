import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { kernelFaults } from './kernel-faults.ts';

kernelFaults(
  'SQLite',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-faults-'));
    const store = new SqliteActorStore({ directory });
    const documents = new SqliteDocuments({ directory });
    const blobs = new FileBlobs({ directory });
    const ports = [store, documents, blobs];
    for (const port of ports) await port.open();
    return {
      store,
      documents,
      blobs,
      async close() {
        for (const port of ports) await port.close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
  { clients: 12, calls: 40 },
);
