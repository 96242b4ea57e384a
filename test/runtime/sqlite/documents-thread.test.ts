import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { SvcError, unreachableStore } from '../../../runtime/errors.ts';
import { openDocumentsFile } from '../../../runtime/sqlite/database.ts';
import { SqliteDocuments, type SqliteDocumentsOptions } from '../../../runtime/sqlite/documents.ts';
import { GroupCommit } from '../../../runtime/sqlite/documents-group.ts';
import { DocumentsThread, DocumentsWriter } from '../../../runtime/sqlite/documents-thread.ts';
import { smallFileSystem } from '../../support/small-disk.ts';
import { waitUntil } from '../../support/wait-until.ts';

const NOTES = { name: 'notes', unique: [], indexes: [] };
const note = (id: string, text = '') => ({ tenant: 'acme', id, version: 1, text });
const notes = (count: number, text = '') => Array.from({ length: count }, (_, n) => note(`${n}`, text));

const isAway = (thrown: unknown): true => {
  assert.ok(thrown instanceof SvcError);
  assert.deepEqual([thrown.code, unreachableStore(thrown)], ['unavailable', 'documents']);
  return true;
};

async function directoryFor(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-documents-thread-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function opened(t: TestContext, options: Omit<SqliteDocumentsOptions, 'directory'>, at?: string) {
  const directory = at ?? (await directoryFor(t));
  const documents = new SqliteDocuments({ directory, ...options });
  await documents.open();
  t.after(() => documents.close());
  return { directory, documents, all: await documents.collection(NOTES) };
}

test('many writes start the thread, and it ends when no more come', async (t) => {
  const { documents, all } = await opened(t, { threadFromRows: 100, quietMs: 50 });
  await all.putMany(notes(50));
  assert.equal(documents.hasThread, false, 'few writes need none');
  // Again and again: on a slow machine a second may be over between two writes, and the thread between two looks.
  await waitUntil('the thread that writes', async () => {
    await all.putMany(notes(110));
    return documents.hasThread;
  });
  assert.equal(await all.put({ ...note('1'), version: 2 }), true);
  await waitUntil('its end', () => !documents.hasThread);
  assert.equal(await all.put({ ...note('1'), version: 3 }), true);
  assert.equal((await all.get('acme', '1'))?.version, 3);
});

test('what was acknowledged is there after the process was killed', async (t) => {
  const directory = await directoryFor(t);
  const program = join(import.meta.dirname, 'documents-thread-node.ts');
  const child = spawn(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const acknowledged: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (id) => {
    acknowledged.push(id);
    if (acknowledged.length === 500) child.kill('SIGKILL');
  });
  await once(lines, 'close');
  assert.ok(acknowledged.length >= 500);
  const { all } = await opened(t, {}, directory);
  const there = await Promise.all(acknowledged.map((id) => all.get('acme', id)));
  assert.deepEqual(
    acknowledged.filter((_, index) => there[index] === null),
    [],
  );
});

test('a file that another process holds is an unavailable store for writes of the thread, and works again', async (t) => {
  const { directory, all } = await opened(t, { threadFromRows: 0, busyTimeoutMs: 20 });
  assert.equal(await all.count({ tenant: 'acme' }), 0);
  const other = new DatabaseSync(join(directory, 'documents.db'));
  other.exec('BEGIN IMMEDIATE');
  await assert.rejects(all.insert(note('1')), isAway);
  assert.deepEqual(await all.find({ tenant: 'acme', limit: 1 }), [], 'reads go on');
  other.exec('ROLLBACK');
  other.close();
  assert.equal(await all.insert(note('1')), true);
});

test('a full disk is an unavailable store for writes of the thread, and works again when there is room', async (t) => {
  const disk = await smallFileSystem();
  if (disk === null) return t.diagnostic('no disk can be made full by this user');
  await using held = disk;
  const documents = new SqliteDocuments({ directory: held.directory, threadFromRows: 0 });
  await documents.open();
  const all = await documents.collection(NOTES);
  await all.put(note('kept'));
  await held.fill(process.pid);
  await assert.rejects(all.putMany(notes(64, 'x'.repeat(100_000))), isAway);
  assert.equal(await all.count({ tenant: 'acme' }), 1, 'nothing of it was written');
  await held.free(process.pid);
  await all.putMany(notes(64, 'x'.repeat(1_000)));
  assert.equal(await all.count({ tenant: 'acme' }), 65);
  await documents.close();
});

test('a store that is closed writes what waits first, in many groups', async (t) => {
  const { directory, documents, all } = await opened(t, { threadFromRows: 0 });
  const waiting = notes(2_000).map((one) => all.put(one));
  await documents.close();
  assert.ok((await Promise.all(waiting)).every(Boolean));
  const again = await opened(t, {}, directory);
  assert.equal(await again.all.count({ tenant: 'acme' }), 2_000);
});

test('a writer thread that ends by itself reports its writes as unavailable', async (t) => {
  const thread = await DocumentsThread.start({ path: join(await directoryFor(t), 'documents.db'), busyTimeoutMs: 20 });
  // Nothing that the store sends: the thread breaks.
  const broken = thread.apply(JSON.parse('7'));
  const behind = thread.apply([]);
  await assert.rejects(broken, isAway);
  await assert.rejects(behind, isAway);
  await assert.rejects(thread.apply([]), isAway);
  await thread.close();
});

test('after the writer thread broke off, the thread of turns writes', async (t) => {
  const path = join(await directoryFor(t), 'documents.db');
  const database = openDocumentsFile(path, 20);
  const warnings: string[] = [];
  let started = 0;
  const writer = new DocumentsWriter(database, {
    ...{ path, busyTimeoutMs: 20, threadFromRows: 2, quietMs: 60_000 },
    warn: (message) => warnings.push(message),
    async startThread() {
      started += 1;
      return {
        apply: () => Promise.reject(new SvcError('unavailable', 'it broke off', { store: 'documents' })),
        close: async () => {},
      };
    },
  });
  const spec = { do: 'schema', specs: [NOTES] } as const;
  const row = ['acme', '1', 1, '{}', '{}'] as const;
  const insert = { do: 'insert', table: 'doc_notes', row } as const;
  assert.deepEqual(await writer.apply([spec], 2), [0]);
  await waitUntil('the thread', () => writer.hasThread);
  const [broken] = await writer.apply([insert], 1);
  assert.ok(isAway(broken));
  assert.equal(warnings.length, 1);
  assert.equal(writer.hasThread, false);
  assert.deepEqual(await writer.apply([insert], 1), [1]);
  await writer.apply([insert], 100);
  assert.equal(started, 1, 'one that breaks is not started again with each write');
  await writer.close();
  database.close();
});

test('writes beyond the queue limit are refused, and accepted again once some were written', async () => {
  const written: (() => void)[] = [];
  const group = new GroupCommit({
    apply: (writes) =>
      new Promise((resolve) => {
        written.push(() => resolve(writes.map(() => 1)));
      }),
  });
  const large = 'x'.repeat(8_000_000);
  const write = () => group.run({ do: 'insert', table: 'doc_notes', row: ['acme', 'id', 1, '{}', large] });
  const taken: Promise<number>[] = [];
  const refused = await (async () => {
    for (let n = 0; n < 40; n += 1) {
      const one = write();
      const outcome = await Promise.race([one.then(null, (error: unknown) => error), new Promise(setImmediate)]);
      if (outcome instanceof SvcError) return outcome;
      taken.push(one);
    }
    return null;
  })();
  assert.ok(refused !== null && isAway(refused));
  assert.ok(taken.length < 25, `${taken.length} of 8 MB were taken`);
  const ended = group.close();
  while (written.length > 0) {
    written.shift()?.();
    await new Promise(setImmediate);
  }
  await ended;
  assert.deepEqual(new Set(await Promise.all(taken)), new Set([1]));
});
