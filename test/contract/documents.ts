import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Collection, Documents, Find, StoredDocument } from '../../runtime/documents.ts';
import { type ErrorCode, SvcError } from '../../runtime/errors.ts';
import { sample } from '../support/size.ts';
import { documentPages } from './documents-pages.ts';
import { documentProperties } from './documents-properties.ts';

export interface DocumentsUnderTest {
  /** An open adapter. */
  readonly documents: Documents;
  /** Another adapter over the same data, not open yet. */
  another(): Documents;
  stop(): Promise<void>;
}

export interface DocumentsContractOptions {
  readonly skip?: string | false;
  /** Number of documents in the large list. */
  readonly many?: number;
  /** Number of runs of each property. */
  readonly runs?: number;
}

interface Note extends StoredDocument {
  readonly name: string;
  readonly size?: number | null;
  readonly labels?: Readonly<Record<string, unknown>>;
}

const NOTES = { unique: [['name']], indexes: [['size'], ['name', 'size']] };

const note = (id: string, version = 1, more: Partial<Note> = {}): Note => ({
  tenant: 'acme',
  id,
  version,
  name: `name of ${id}`,
  ...more,
});

const refuses = (call: Promise<unknown>, code: ErrorCode, field?: string) =>
  assert.rejects(call, (error) => error instanceof SvcError && error.code === code && error.field === field);

/** The promises of every adapter of Documents, on a separate store. */
export function documentsContract(
  name: string,
  make: () => Promise<DocumentsUnderTest>,
  options: DocumentsContractOptions = {},
): void {
  const {
    skip = false,
    many = sample({ quick: 1_000, normal: 10_000, long: 10_000 }),
    runs = sample({ normal: 8, long: 40 }),
  } = options;
  describe(`documents on ${name}`, { skip, timeout: 300_000 }, () => {
    let setup: DocumentsUnderTest | undefined;
    let collections = 0;
    const current = (): DocumentsUnderTest => {
      if (setup === undefined) throw new Error('the store was not started');
      return setup;
    };
    const notes = (): Promise<Collection<Note>> => {
      collections += 1;
      return current().documents.collection<Note>({ name: `notes_${collections}`, ...NOTES });
    };
    before(async () => {
      setup = await make();
    });
    after(async () => {
      await setup?.stop();
    });

    writes(notes);
    races(notes);
    reads(notes, many);
    refusals(notes, current);
    documentProperties(current, runs);
    documentPages(current, runs);

    test('reopening keeps the data, and a closed store answers unavailable', async (t) => {
      const spec = { name: 'kept', ...NOTES };
      const first = current().another();
      t.after(() => first.close());
      await first.open();
      const before = await first.collection<Note>(spec);
      assert.equal(await before.insert(note('1', 7, { labels: { $ref: '#/x', 'a.b': [[1]] } })), true);
      await first.close();
      await first.close();
      await refuses(before.get('acme', '1'), 'unavailable');
      await refuses(before.put(note('2')), 'unavailable');
      await refuses(first.collection(spec), 'unavailable');
      await first.open();
      const after = await first.collection<Note>(spec);
      assert.deepEqual(await after.get('acme', '1'), note('1', 7, { labels: { $ref: '#/x', 'a.b': [[1]] } }));
      assert.equal(await after.insert(note('2', 1, { name: 'name of 1' })), false);
      await first.close();
    });
  });
}

function writes(notes: () => Promise<Collection<Note>>): void {
  test('insert answers false for an id or a unique tuple that exists in the tenant, and for no other', async () => {
    const all = await notes();
    assert.equal(await all.insert(note('1')), true);
    assert.equal(await all.insert(note('1', 2, { name: 'other' })), false);
    assert.equal(await all.insert(note('2', 1, { name: 'name of 1' })), false);
    assert.equal(await all.insert(note('1', 1, { tenant: 'globex' })), true);
    assert.deepEqual(await all.get('acme', '1'), note('1'));
    assert.equal(await all.count({ tenant: 'acme' }), 1);
  });

  test('put ignores the same or an older version and drops the fields of the replaced document', async () => {
    const all = await notes();
    assert.equal(await all.put(note('1', 2, { size: 1, labels: { a: 1 } })), true);
    assert.equal(await all.put(note('1', 2, { size: 2 })), false);
    assert.equal(await all.put(note('1', 1, { size: 3 })), false);
    assert.equal(await all.put(note('1', 3)), true);
    assert.deepEqual(await all.get('acme', '1'), note('1', 3));
  });

  test('putMany follows the rule of put for each document, in order per id', async () => {
    const all = await notes();
    await all.put(note('2', 5, { size: 5 }));
    await all.put(note('3', 1, { size: 1 }));
    await all.putMany([
      note('1', 1, { size: 1 }),
      note('1', 2, { size: 2 }),
      note('1', 2, { size: 99 }),
      note('2', 4, { size: 4 }),
      note('3', 2, { size: 2 }),
    ]);
    await all.putMany([]);
    const sizes = (await all.find({ tenant: 'acme', limit: 10 })).map((one) => [one.id, one.version, one.size]);
    assert.deepEqual(sizes, [
      ['1', 2, 2],
      ['2', 5, 5],
      ['3', 2, 2],
    ]);
  });

  test('replace writes only over the expected version', async () => {
    const all = await notes();
    assert.equal(await all.replace(note('1', 2), 1), false);
    await all.insert(note('1'));
    assert.equal(await all.replace(note('1', 2), 0), false);
    assert.equal(await all.replace(note('1', 2), 1), true);
    assert.equal(await all.replace(note('1', 2), 1), false);
  });

  test('a put or replace into a taken unique tuple throws conflict and changes nothing', async () => {
    const all = await notes();
    await all.insert(note('1'));
    await all.insert(note('2'));
    const taken = { name: 'name of 1' };
    await refuses(all.put(note('2', 5, taken)), 'conflict');
    await refuses(all.put(note('3', 5, taken)), 'conflict');
    await refuses(all.putMany([note('4', 5, taken)]), 'conflict');
    await refuses(all.replace(note('2', 5, taken), 1), 'conflict');
    assert.equal(await all.put(note('2', 1, taken)), false, 'an older version is ignored first');
    assert.deepEqual(await all.get('acme', '2'), note('2'));
    assert.equal(await all.count({ tenant: 'acme' }), 2);
  });

  test('delete answers whether the document existed, deleteMany how many did', async () => {
    const all = await notes();
    await all.putMany([note('1', 1, { size: 1 }), note('2', 1, { size: 2 }), note('3', 1, { size: 3 })]);
    await all.insert(note('1', 1, { tenant: 'globex', size: 1 }));
    assert.equal(await all.delete('acme', '1'), true);
    assert.equal(await all.delete('acme', '1'), false);
    assert.equal(await all.deleteMany({ tenant: 'acme', where: { size: { lte: 2 } } }), 1);
    assert.equal(await all.deleteMany({ tenant: 'acme' }), 1);
    assert.equal(await all.count({ tenant: null }), 1);
  });

  test('a total adds the numbers of a field, and the list of tenants holds those that have a document', async () => {
    const all = await notes();
    assert.deepEqual([await all.total({ tenant: null }, 'size'), await all.tenants()], [0, []]);
    await all.putMany([
      note('1', 1, { size: 1 }),
      note('2', 1, { size: 2.5 }),
      note('3', 1),
      note('4', 1, { size: 30 }),
    ]);
    await all.insert(note('1', 1, { tenant: 'globex', size: 100 }));
    await all.insert(note('1', 1, { tenant: 'a', name: '7' }));
    assert.equal(await all.total({ tenant: 'acme' }, 'size'), 33.5);
    assert.equal(await all.total({ tenant: 'acme', where: { size: { lt: 30 } } }, 'size'), 3.5);
    assert.equal(await all.total({ tenant: null }, 'size'), 133.5);
    assert.equal(await all.total({ tenant: null }, 'name'), 0, 'text is no number');
    assert.deepEqual((await all.tenants()).sort(), ['a', 'acme', 'globex']);
    await refuses(all.total({ tenant: null }, '$size'), 'invalid_argument', 'total');
    await all.deleteMany({ tenant: 'acme' });
    assert.deepEqual((await all.tenants()).sort(), ['a', 'globex']);
  });
}

function races(notes: () => Promise<Collection<Note>>): void {
  const fifty = Array.from({ length: 50 }, (_, index) => index + 1);

  test('of 50 concurrent inserts of one unique tuple one wins', async () => {
    const all = await notes();
    const won = await Promise.all(fifty.map((n) => all.insert(note(String(n), 1, { name: 'the one' }))));
    assert.equal(won.filter(Boolean).length, 1);
    assert.equal(await all.count({ tenant: 'acme' }), 1);
  });

  test('of 50 concurrent puts of one id the highest version stays', async () => {
    const all = await notes();
    const shuffled = fifty.map((n) => ((n * 37) % 50) + 1);
    await Promise.all(shuffled.map((version) => all.put(note('1', version, { size: version }))));
    assert.deepEqual(await all.get('acme', '1'), note('1', 50, { size: 50 }));
  });

  test('of 50 concurrent replaces of one version one wins', async () => {
    const all = await notes();
    await all.insert(note('1'));
    const won = await Promise.all(fifty.map((n) => all.replace(note('1', 2, { size: n }), 1)));
    assert.deepEqual(
      won.flatMap((isWritten, index) => (isWritten ? [index + 1] : [])),
      [(await all.get('acme', '1'))?.size],
    );
  });

  test('of 50 concurrent removals of one version one succeeds, and a document inserted under its id again stays', async () => {
    const all = await notes();
    // A server that reads before it deletes needs more time for these.
    await all.putMany(Array.from({ length: 100 }, (_, n) => note(`other-${n}`)));
    for (let round = 1; round <= 3; round += 1) {
      await all.insert(note('1', 2 * round));
      const removed = await Promise.all(
        fifty.map(async () => {
          if (!(await all.deleteVersion('acme', '1', 2 * round))) return false;
          return all.insert(note('1', 2 * round + 1));
        }),
      );
      assert.equal(removed.filter((isFirst) => isFirst).length, 1);
      assert.deepEqual(await all.get('acme', '1'), note('1', 2 * round + 1));
      assert.equal(await all.deleteVersion('acme', '1', 2 * round + 1), true);
    }
    assert.equal(await all.deleteVersion('acme', '1', 1), false);
  });
}

function reads(notes: () => Promise<Collection<Note>>, many: number): void {
  test('a long list pages in a stable order, with ties broken by id, both ways', async () => {
    const all = await notes();
    const docs = Array.from({ length: many }, (_, n) => note(String(n).padStart(6, '0'), 1, { size: n % 7 }));
    for (let from = 0; from < many; from += 1_000) await all.putMany(docs.slice(from, from + 1_000));
    assert.equal(await all.count({ tenant: 'acme' }), many);
    for (const order of ['asc', 'desc'] as const) {
      const sign = order === 'asc' ? 1 : -1;
      const sorted = docs.toSorted((a, b) => sign * (Number(a.size) - Number(b.size) || Number(a.id) - Number(b.id)));
      for (const skip of [0, Math.floor(many / 2), many - 10]) {
        const page = await all.find({ tenant: 'acme', sort: [['size', order]], skip, limit: 1_000 });
        const expected = sorted.slice(skip, skip + 1_000);
        assert.deepEqual(
          page.map((one) => one.id),
          expected.map((one) => one.id),
        );
      }
    }
    assert.deepEqual(await all.find({ tenant: 'acme', skip: many, limit: 1 }), []);
  });

  test('a document comes back as it was stored, whatever its names and nesting', async () => {
    const all = await notes();
    const odd = {
      ...note('x/y z'),
      size: 9_007_199_254_740_991,
      labels: { $ref: '#/a', 'app.example/name': 'x', '': null, list: [[1, [2]], { a: [] }] },
      $schema: 'https://example.test/s',
      _id: 'mine',
      'a.b': 1,
      camelCase: true,
      text: 'line\n"quoted" \\ 😀 \0',
    };
    await all.insert(odd);
    assert.deepEqual(await all.get('acme', 'x/y z'), odd);
  });

  test('the tenant and the id of a document cannot be confused', async () => {
    const all = await notes();
    await all.insert(note('b/c'));
    assert.equal(await all.get('globex', 'b/c'), null);
    assert.equal(await all.delete('globex', 'b/c'), false);
    await refuses(all.get('acme/b', 'c'), 'invalid_argument', 'tenant');
    await refuses(all.insert(note('c', 1, { tenant: 'acme/b' })), 'invalid_argument', 'tenant');
  });
}

function refusals(notes: () => Promise<Collection<Note>>, setup: () => DocumentsUnderTest): void {
  const base: Find = { tenant: 'acme', limit: 10 };

  test('field names that are no plain names are refused, and nothing of them reaches the store', async () => {
    const all = await notes();
    await all.insert(note('1'));
    for (const field of ["x') OR 1=1 --", '$where', 'a.b', 'A', '', '_id', "n'", '"', 'x'.repeat(65), '__proto__ ']) {
      await refuses(all.find({ ...base, where: { [field]: 1 } }), 'invalid_argument', 'where');
      await refuses(all.count({ tenant: 'acme', where: { [field]: 1 } }), 'invalid_argument', 'where');
      await refuses(all.deleteMany({ tenant: 'acme', where: { [field]: 1 } }), 'invalid_argument', 'where');
      await refuses(all.find({ ...base, sort: [[field, 'asc']] }), 'invalid_argument', 'sort');
      const spec = { name: 'bad', unique: [], indexes: [[field]] };
      await refuses(setup().documents.collection(spec), 'invalid_argument', 'indexes');
    }
    const named = { name: 'bad; DROP TABLE doc_kept', unique: [], indexes: [] };
    await refuses(setup().documents.collection(named), 'invalid_argument', 'name');
    assert.equal(await all.count({ tenant: 'acme' }), 1);
  });

  test('operators sent as values are refused', async () => {
    const all = await notes();
    for (const condition of [
      '{"$gt":""}',
      '{"gt":{"$gt":1}}',
      '{"in":[{"$gt":1}]}',
      '{"in":1}',
      '{}',
      '[1]',
      '{"gt":1,"x":2}',
    ]) {
      const where = { name: JSON.parse(condition) };
      await refuses(all.find({ ...base, where }), 'invalid_argument', 'name');
    }
    const listed = { name: { in: Array.from({ length: 1_001 }, (_, n) => n) } };
    await refuses(all.find({ ...base, where: listed }), 'invalid_argument', 'name');
    const thousand = { name: { in: Array.from({ length: 1_000 }, (_, n) => (n % 2 === 0 ? n : `${n}`)) } };
    assert.deepEqual(await all.find({ ...base, where: thousand }), []);
  });

  test('limit is 1 to 1,000 and skip a whole number', async () => {
    const all = await notes();
    for (const limit of [0, -1, 1.5, 1_001, Number.NaN]) {
      await refuses(all.find({ tenant: 'acme', limit }), 'invalid_argument', 'limit');
    }
    for (const skip of [-1, 0.5, Number.POSITIVE_INFINITY]) {
      await refuses(all.find({ ...base, skip }), 'invalid_argument', 'skip');
    }
  });

  test('a document without a proper key, version or size is refused', async () => {
    const all = await notes();
    await refuses(all.insert(note('')), 'invalid_argument', 'id');
    await refuses(all.insert(note('a\0b')), 'invalid_argument', 'id');
    await refuses(all.put(note('1', -1)), 'invalid_argument', 'version');
    await refuses(all.put(note('1', 0.5)), 'invalid_argument', 'version');
    await refuses(all.put(note('1', 1, { name: 'x'.repeat(15 * 1024 * 1024) })), 'payload_too_large');
  });
}
