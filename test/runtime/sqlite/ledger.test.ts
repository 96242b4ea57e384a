import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { ledgerContract } from '../../contract/ledger.ts';
import { sample } from '../../support/size.ts';

ledgerContract(
  'SQLite',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-ledger-'));
    const documents = new SqliteDocuments({ directory });
    await documents.open();
    return {
      documents,
      async stop() {
        await documents.close();
        await rm(directory, { recursive: true });
      },
    };
  },
  { runs: sample({ normal: 6, long: 300 }) },
);
