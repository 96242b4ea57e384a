import type { StoredDocument } from '../../../runtime/documents.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';

/** Writes documents with counted fields into the directory it is given, a line for each acknowledged write, until it is killed. */
interface Run extends StoredDocument {
  readonly removed: boolean;
  readonly flow: string;
  readonly note: string;
}

const [directory = ''] = process.argv.slice(2);
const documents = new SqliteDocuments({ directory });
await documents.open();
const runs = await documents.collection<Run>({
  name: 'runs',
  unique: [['note']],
  indexes: [['removed', 'flow']],
  counted: ['removed', 'flow'],
});
const flowOf = (n: number): string => 'abc'.charAt(n % 3);
for (let n = 1; ; n += 1) {
  const id = `run-${n % 50}`;
  await Promise.all([
    runs.put({ tenant: 'acme', id, version: n, removed: n % 4 === 0, flow: flowOf(n), note: id }),
    runs.put({ tenant: 'acme', id: `more-${n}`, version: 1, removed: false, flow: flowOf(n), note: `more-${n}` }),
    runs.delete('acme', `more-${n - 5}`),
  ]);
  process.stdout.write(`${n}\n`);
}
