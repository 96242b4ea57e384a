/** Writes documents with the thread that is for it until it is killed, and prints each id once it is acknowledged. */
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';

const [directory = ''] = process.argv.slice(2);
const documents = new SqliteDocuments({ directory, threadFromRows: 0 });
await documents.open();
const notes = await documents.collection({ name: 'notes', unique: [], indexes: [] });
const writer = async (name: string): Promise<void> => {
  for (let n = 0; ; n += 1) {
    const id = `${name}-${n}`;
    await notes.put({ tenant: 'acme', id, version: 1 });
    process.stdout.write(`${id}\n`);
  }
};
await Promise.all(Array.from({ length: 16 }, (_, n) => writer(`${n}`)));
