import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';

const MIB = 1_048_576;
const SPEC = { name: 'notes', unique: [], indexes: [] };

async function directoryFor(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-free-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function filled(directory: string): Promise<SqliteDocuments> {
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  const notes = await documents.collection(SPEC);
  for (let page = 0; page < 8; page += 1) {
    const text = 'x'.repeat(20_000);
    await notes.putMany(
      Array.from({ length: 200 }, (_, n) => ({ tenant: 'acme', id: `${page}-${n}`, version: 1, text })),
    );
  }
  return documents;
}

const sizeOf = async (directory: string): Promise<number> => (await stat(join(directory, 'documents.db'))).size;

test('a file gives the space of deleted rows back in steps, and keeps a little for the rows to come', async (t) => {
  const directory = await directoryFor(t);
  const documents = await filled(directory);
  const notes = await documents.collection(SPEC);
  await notes.deleteMany({ tenant: 'acme' });
  let steps = 0;
  while (await documents.upkeep()) steps += 1;
  assert.ok(steps > 10, `${steps} steps`);
  await documents.close();
  const size = await sizeOf(directory);
  assert.ok(size > 2 * MIB && size < 6 * MIB, `${size} bytes`);
});

test('a small file of an earlier version is rewritten when it is opened, and gives space back from then on', async (t) => {
  const directory = await directoryFor(t);
  await (await filled(directory)).close();
  const earlier = new DatabaseSync(join(directory, 'documents.db'));
  earlier.exec('PRAGMA auto_vacuum = NONE; VACUUM;');
  earlier.close();
  const before = await sizeOf(directory);
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  documents.rewriteWhenSmall();
  const notes = await documents.collection(SPEC);
  assert.equal(await notes.count({ tenant: 'acme' }), 1_600);
  await notes.deleteMany({ tenant: 'acme' });
  while (await documents.upkeep());
  await documents.close();
  assert.ok((await sizeOf(directory)) < before / 3);
});

test('the file of mailboxes and records gives space back too', async (t) => {
  const directory = await directoryFor(t);
  const store = new SqliteActorStore({ directory });
  await store.open();
  assert.equal(await store.upkeep(), false, 'of a small one there is nothing to give');
  await store.close();
  const file = new DatabaseSync(join(directory, 'actors.db'));
  assert.equal(Number(file.prepare('PRAGMA auto_vacuum').get()?.auto_vacuum), 2);
  file.close();
});
