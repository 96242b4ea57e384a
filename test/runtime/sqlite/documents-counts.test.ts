import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { Condition, Scalar, StoredDocument } from '../../../runtime/documents.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';

interface Run extends StoredDocument {
  readonly removed: Scalar;
  readonly flow?: Scalar;
  readonly note: string;
}

const WRITER = join(import.meta.dirname, 'counted-writer.ts');

const PLAIN = { name: 'runs', unique: [['note']], indexes: [['removed', 'flow']] };
const COUNTED = { ...PLAIN, counted: ['removed', 'flow'] };
const TENANTS = ['acme', 'globex'];
/** Alike to SQLite, or to JSON, and still different values. */
const VALUES: readonly Scalar[] = [true, false, 1, 0, '1', 'true', 'null', null, 'a"b\\c', 'é'];

async function opened(context: TestContext): Promise<SqliteDocuments> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-counts-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  context.after(async () => {
    await documents.close();
    await rm(directory, { recursive: true });
  });
  return documents;
}

const value = fc.constantFrom(...VALUES);
const document = fc.record({
  tenant: fc.constantFrom(...TENANTS),
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  version: fc.integer({ min: 0, max: 4 }),
  removed: value,
  flow: value,
  note: fc.constantFrom('n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7'),
});
const condition: fc.Arbitrary<Condition> = fc.oneof(
  value,
  fc.array(value, { maxLength: 4 }).map((list) => ({ in: list })),
);

describe('counts kept ready on SQLite', () => {
  test('after any writes the counts equal those of the stored documents, for any query', async (context) => {
    const documents = await opened(context);
    const ready = await documents.collection<Run>(COUNTED);
    const counting = await documents.collection<Run>(PLAIN);
    const write = fc.tuple(fc.constantFrom('insert', 'put', 'putMany', 'replace', 'delete', 'deleteMany'), document);
    const asked = fc.record({ removed: condition, flow: condition }, { requiredKeys: [] });
    const check = async (writes: readonly [string, Run][], where: Record<string, Condition>) => {
      for (const [kind, doc] of writes) await applied(kind, doc);
      for (const tenant of [...TENANTS, null])
        assert.equal(await ready.count({ tenant, where }), await counting.count({ tenant, where }));
    };
    async function applied(kind: string, doc: Run): Promise<void> {
      try {
        if (kind === 'insert') await ready.insert(doc);
        else if (kind === 'put') await ready.put(doc);
        else if (kind === 'putMany') await ready.putMany([doc, { ...doc, version: doc.version + 1 }]);
        else if (kind === 'replace') await ready.replace({ ...doc, version: doc.version + 1 }, doc.version);
        else if (kind === 'delete') await ready.delete(doc.tenant, doc.id);
        else await ready.deleteMany({ tenant: doc.tenant, where: { removed: doc.removed } });
      } catch (thrown) {
        // Another document holds the note: nothing is written, nothing may be counted.
        assert.match(String(thrown), /unique/);
      }
    }
    await fc.assert(fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 12 }), asked, check), { numRuns: 150 });
  });

  test('documents that were stored before a count was kept are counted', async (context) => {
    const documents = await opened(context);
    const before = await documents.collection<Run>(PLAIN);
    await before.insert({ tenant: 'acme', id: 'a', version: 1, removed: false, note: 'n1' });
    await before.insert({ tenant: 'acme', id: 'b', version: 1, removed: true, flow: 'x', note: 'n2' });
    const ready = await documents.collection<Run>(COUNTED);
    await before.insert({ tenant: 'acme', id: 'c', version: 1, removed: false, note: 'n3' });
    assert.equal(await ready.count({ tenant: 'acme', where: { removed: false } }), 2);
    assert.equal(await ready.count({ tenant: 'acme' }), 3);
    assert.equal(await ready.count({ tenant: 'globex' }), 0);
    assert.equal(await ready.count({ tenant: 'acme', where: { note: 'n2' } }), 1);
  });

  test('after kill -9 in the middle of writes the counts equal those of the stored documents', async (context) => {
    for (let round = 0; round < 3; round += 1) {
      const directory = await mkdtemp(join(tmpdir(), 'svc-counts-'));
      context.after(() => rm(directory, { recursive: true }));
      const child = spawn(process.execPath, [WRITER, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
      const lines = createInterface({ input: child.stdout });
      let left = 40 + 7 * round;
      for await (const _line of lines) {
        left -= 1;
        if (left === 0) break;
      }
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      assert.equal(left, 0, 'the writer wrote until it was killed');
      const documents = new SqliteDocuments({ directory });
      await documents.open();
      const ready = await documents.collection<Run>(COUNTED);
      const counting = await documents.collection<Run>(PLAIN);
      assert.ok((await counting.count({ tenant: null })) > 0);
      for (const removed of [true, false])
        for (const flow of ['a', 'b', 'c']) {
          const query = { tenant: 'acme', where: { removed, flow } };
          assert.equal(await ready.count(query), await counting.count(query));
        }
      await documents.close();
    }
  });

  test('a table of counts that was dropped is made anew when the store is opened', async (context) => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-counts-'));
    context.after(() => rm(directory, { recursive: true }));
    const open = async () => {
      const documents = new SqliteDocuments({ directory });
      await documents.open();
      return { documents, runs: await documents.collection<Run>(COUNTED) };
    };
    const first = await open();
    await first.runs.insert({ tenant: 'acme', id: 'a', version: 1, removed: false, note: 'n1' });
    await first.documents.close();
    const file = new DatabaseSync(join(directory, 'documents.db'));
    file.exec('UPDATE cnt_runs__removed__flow SET n = 7');
    file.exec('DROP TABLE cnt_runs__removed__flow');
    file.close();
    const second = await open();
    assert.equal(await second.runs.count({ tenant: 'acme' }), 1);
    await second.runs.insert({ tenant: 'acme', id: 'b', version: 1, removed: false, note: 'n2' });
    assert.equal(await second.runs.count({ tenant: 'acme', where: { removed: false } }), 2);
    await second.documents.close();
  });
});
