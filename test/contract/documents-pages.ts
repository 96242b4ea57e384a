import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { positionOf } from '../../runtime/documents/document-query.ts';
import type { Collection, Find } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { DocumentsUnderTest } from './documents.ts';
import { ModelCollection, type Thing } from './documents-model.ts';
import { find, step, take, thing } from './documents-properties.ts';

/** Pages that begin after a position: their content, and that a walk through them is complete. */
export function documentPages(setup: () => DocumentsUnderTest, runs: number): void {
  const open = (name: string): Promise<Collection<Thing>> => {
    const spec = { name, unique: [['s']], indexes: [['n'], ['b', 'version']], beside: ['s'] };
    return setup().documents.collection<Thing>(spec);
  };

  test('a find from the position of any document answers as the model does, for any order', async () => {
    const things = await open('behind');
    const property = fc.asyncProperty(
      fc.array(thing, { minLength: 1, maxLength: 20 }),
      fc.array(find, { minLength: 1, maxLength: 6 }),
      fc.nat(),
      async (docs, finds, at) => {
        await things.deleteMany({ tenant: null });
        const model = new ModelCollection();
        for (const doc of docs) if (await model.insert(doc)) await things.insert(doc);
        for (const { skip: _, ...one } of finds) {
          const doc = docs[at % docs.length];
          if (doc === undefined) return;
          const asked = { ...one, after: positionOf(one, doc) };
          assert.deepEqual(await things.find(asked), await model.find(asked), JSON.stringify(asked));
          assert.deepEqual(await things.findStored(asked), await model.findStored(asked), JSON.stringify(asked));
        }
      },
    );
    await fc.assert(property, { numRuns: runs });
  });

  test('pages neither skip nor repeat documents that stay, while others are written, moved and deleted between them', async () => {
    const things = await open('walked');
    const between = fc.array(fc.array(step, { maxLength: 4 }), { minLength: 1, maxLength: 8 });
    const property = fc.asyncProperty(
      fc.array(thing, { maxLength: 30 }),
      find,
      between,
      async (docs, { skip: _, ...one }, changes) => {
        await things.deleteMany({ tenant: null });
        const page: Find = { ...one, limit: (one.limit % 3) + 1 };
        for (const doc of docs) await things.insert(doc);
        const before = await whole(things, page);
        const written = new Set<string>();
        const walked: Thing[] = [];
        let turn = 0;
        for await (const some of walk(things, page)) {
          walked.push(...some);
          for (const change of changes[turn] ?? []) {
            written.add(keyOf(change.doc));
            await take(things, change);
          }
          turn += 1;
        }
        const stayed = before.filter((doc) => !written.has(keyOf(doc)));
        const seen = walked.filter((doc) => !written.has(keyOf(doc)));
        assert.deepEqual(seen, stayed, JSON.stringify(page));
      },
    );
    await fc.assert(property, { numRuns: runs });
  });

  test('a document that is inserted, deleted or rewritten between two pages is never in both', async () => {
    const things = await open('grown');
    const change = fc.record({ do: fc.constantFrom('insert', 'delete', 'write'), at: fc.nat({ max: 40 }) });
    const property = fc.asyncProperty(
      fc.array(fc.array(change, { maxLength: 5 }), { maxLength: 12 }),
      async (turns) => {
        await things.deleteMany({ tenant: null });
        // Many have equal sort values and differ only in their ids.
        const of = (at: number, version: number): Thing => ({ tenant: 'acme', id: `${at}`, version, n: at % 3 });
        await things.putMany(Array.from({ length: 20 }, (_, at) => of(at, 1)));
        const walked: string[] = [];
        let turn = 0;
        for await (const some of walk(things, { tenant: 'acme', sort: [['n', 'desc']], limit: 3 })) {
          walked.push(...some.map(keyOf));
          for (const { do: what, at } of turns[turn] ?? []) {
            if (what === 'insert') await things.insert(of(at, 1));
            else if (what === 'delete') await things.delete('acme', `${at}`);
            else await things.put(of(at, turn + 2));
          }
          turn += 1;
        }
        assert.equal(new Set(walked).size, walked.length, walked.join(' '));
      },
    );
    await fc.assert(property, { numRuns: runs });
  });

  test('an invalid position of the order is refused, and so is a position together with skip', async () => {
    const things = await open('refused');
    const base: Find = { tenant: 'acme', sort: [['n', 'asc']], limit: 5 };
    const refused = (find: Find, field: string) =>
      assert.rejects(things.find(find), (thrown) => thrown instanceof SvcError && thrown.field === field);
    for (const after of ['[]', '[1]', '[1,"a",2]', '[{"$gt":""},"a"]', '[[1],"a"]', '{"0":1,"1":"a"}', '"ab"'])
      await refused({ ...base, after: JSON.parse(after) }, 'after');
    await refused({ ...base, after: [1, 'a'], skip: 1 }, 'skip');
    assert.deepEqual(await things.find({ ...base, after: [1, 'a'], skip: 0 }), []);
  });
}

const keyOf = ({ tenant, id }: Thing): string => `${tenant}/${id}`;

async function* walk(things: Collection<Thing>, page: Find): AsyncGenerator<Thing[]> {
  for (let last: Thing | undefined; ; ) {
    const some = await things.find(last === undefined ? page : { ...page, after: positionOf(page, last) });
    yield some;
    last = some.at(-1);
    if (last === undefined || some.length < page.limit) return;
  }
}

const whole = (things: Collection<Thing>, page: Find): Promise<Thing[]> => things.find({ ...page, limit: 1_000 });
