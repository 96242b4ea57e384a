import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { type OwnStore, SvcError, unreachableStore } from '../../../runtime/errors.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { storeError } from '../../../runtime/sqlite/database.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { tableOf } from '../../../runtime/sqlite/documents-sql.ts';
import { DocumentWrites } from '../../../runtime/sqlite/documents-write.ts';

const isAway = (store: OwnStore) => (thrown: unknown) => {
  assert.ok(thrown instanceof SvcError);
  assert.deepEqual([thrown.code, unreachableStore(thrown)], ['unavailable', store]);
  return true;
};

test('a locked documents file is an unavailable store: reads and writes report that, and work again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-documents-away-'));
  const documents = new SqliteDocuments({ directory, busyTimeoutMs: 20 });
  await documents.open();
  const notes = await documents.collection({ name: 'notes', unique: [], indexes: [] });
  const other = new DatabaseSync(join(directory, 'documents.db'));
  other.exec('BEGIN IMMEDIATE');
  await assert.rejects(notes.insert({ tenant: 'acme', id: '1', version: 1 }), isAway('documents'));
  other.exec('ROLLBACK');
  assert.equal(await notes.insert({ tenant: 'acme', id: '1', version: 1 }), true);
  // A full disk and a failed read come with codes of their own.
  for (const errcode of [5, 10, 13]) {
    isAway('documents')(storeError(Object.assign(new Error('sqlite'), { errcode }), 'documents'));
  }
  other.close();
  await documents.close();
  await assert.rejects(notes.get('acme', '1'), isAway('documents'));
  await rm(directory, { recursive: true, force: true });
});

test('a disk that becomes read-only between two writes of a group is an unavailable store for all of it, and none is done', async () => {
  const database = new DatabaseSync(':memory:');
  const writes = new DocumentWrites(database);
  const table = tableOf('notes');
  const insert = (id: string) => ({ do: 'insert', table, row: ['acme', id, 1, '{}', '{}'] }) as const;
  assert.deepEqual(
    writes.apply([{ do: 'schema', specs: [{ name: 'notes', unique: [], indexes: [] }] }, insert('1')]),
    [0, 1],
  );
  database.function('freeze', () => {
    database.exec('PRAGMA query_only = ON');
    return 0;
  });
  const freeze = { do: 'deleteMany', table, where: ' WHERE freeze() = 1', values: [] } as const;
  const outcomes = writes.apply([insert('2'), freeze, insert('3')]);
  assert.equal(outcomes.length, 3);
  for (const outcome of outcomes) isAway('documents')(outcome);
  database.exec('PRAGMA query_only = OFF');
  assert.deepEqual(writes.apply([insert('1'), insert('2'), insert('3')]), [0, 1, 1]);
  database.close();
});

test('payload files that cannot be read or written are an unavailable store', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-blobs-away-'));
  const blobs = new FileBlobs({ directory });
  await blobs.open();
  await rm(join(directory, 'blobs'), { recursive: true, force: true });
  await assert.rejects(blobs.put('acme', Buffer.from('x')), isAway('blobs'));
  await rm(directory, { recursive: true, force: true });
});
