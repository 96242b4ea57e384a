import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  test(`a close writes what waits, on ${where}, and ends`, { timeout: 30_000 }, async (t) => {
    const documents = await opened(t, threadFromRows);
    const all = await documents.collection<Named>(NAMED);
    const puts = Array.from({ length: 600 }, (_, n) => all.put(named(`${n}`, `name ${n}`)));
    await documents.close();
    await Promise.all(puts);
    await documents.open();
    assert.equal(await (await documents.collection<Named>(NAMED)).count({ tenant: 'acme' }), 600);
  });
}
