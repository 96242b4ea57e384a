import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { StoredDocument } from '../../../runtime/documents.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';

interface Named extends StoredDocument {
  readonly name: string;
}

const named = (id: string, name: string): Named => ({ tenant: 'acme', id, version: 1, name });
const isConflict = (thrown: unknown): boolean => thrown instanceof SvcError && thrown.code === 'conflict';

const NAMED = { name: 'named', unique: [['name']], indexes: [] };

async function opened(t: TestContext, threadFromRows?: number): Promise<SqliteDocuments> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-documents-group-'));
  const documents = new SqliteDocuments({ directory, ...(threadFromRows === undefined ? {} : { threadFromRows }) });
  await documents.open();
  t.after(async () => {
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  });
  return documents;
}

test('a write that fails leaves nothing of its own, and the others of its group are kept', async (t) => {
  const all = await (await opened(t)).collection<Named>(NAMED);
  await all.insert(named('first', 'taken'));
  const [several, replaced, one, other, removed] = await Promise.allSettled([
    all.putMany([named('1', 'one'), named('2', 'taken'), named('3', 'three')]),
    all.replace({ ...named('first', 'taken'), version: 2 }, 1),
    all.put(named('4', 'taken')),
    all.put(named('5', 'five')),
    all.deleteMany({ tenant: 'acme', where: { name: 'no such' } }),
  ]);
  assert.ok(several.status === 'rejected' && isConflict(several.reason));
  assert.ok(one.status === 'rejected' && isConflict(one.reason));
  assert.deepEqual([replaced.status, other.status, removed.status], ['fulfilled', 'fulfilled', 'fulfilled']);
  const left = await all.find({ tenant: 'acme', limit: 10 });
  assert.deepEqual(
    left.map(({ id, version }) => [id, version]),
    [
      ['5', 1],
      ['first', 2],
    ],
  );
});

for (const [where, threadFromRows] of Object.entries({ 'the thread of turns': undefined, 'a thread of its own': 0 })) {
  test(`a close writes what waits, on ${where}, and ends`, { timeout: 300_000 }, async (t) => {
    const documents = await opened(t, threadFromRows);
    const all = await documents.collection<Named>(NAMED);
    const puts = Array.from({ length: 600 }, (_, n) => all.put(named(`${n}`, `name ${n}`)));
    await documents.close();
    await Promise.all(puts);
    await documents.open();
    assert.equal(await (await documents.collection<Named>(NAMED)).count({ tenant: 'acme' }), 600);
  });
}

test('collections that are opened together are made in one transaction, before the first use of any', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-documents-group-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = new DatabaseSync(join(directory, 'documents.db'));
  const tables = (): number =>
    Number(file.prepare("SELECT count(*) AS n FROM sqlite_master WHERE type = 'table'").get()?.n);
  const specs = ['one', 'two', 'three'].map((name) => ({ ...NAMED, name }));
  const [one] = await Promise.all(specs.map((spec) => documents.collection<Named>(spec)));
  assert.equal(tables(), 0);
  assert.equal(await one?.get('acme', 'none'), null);
  assert.equal(tables(), 3);
  await documents.close();
  file.close();
});

test('while the tables of a collection cannot be made its reads and writes say so, and work again later', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-documents-group-'));
  const documents = new SqliteDocuments({ directory, busyTimeoutMs: 20 });
  await documents.open();
  t.after(() => rm(directory, { recursive: true, force: true }));
  const other = new DatabaseSync(join(directory, 'documents.db'));
  other.exec('BEGIN IMMEDIATE');
  const all = await documents.collection<Named>(NAMED);
  const isAway = (thrown: unknown): boolean => thrown instanceof SvcError && thrown.code === 'unavailable';
  await assert.rejects(all.get('acme', '1'), isAway);
  await assert.rejects(all.insert(named('1', 'one')), isAway);
  other.exec('ROLLBACK');
  assert.equal(await all.insert(named('1', 'one')), true);
  assert.equal((await all.get('acme', '1'))?.name, 'one');
  other.close();
  await documents.close();
});
