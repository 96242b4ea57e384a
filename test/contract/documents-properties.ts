import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Collection, Condition, Find } from '../../runtime/documents.ts';
import { toSvcError } from '../../runtime/errors.ts';
import type { DocumentsUnderTest } from './documents.ts';
import { ModelCollection, type Thing } from './documents-model.ts';

const TENANTS = ['acme', 'acme-2', 'Acme'];
const tenant = fc.constantFrom(...TENANTS);
const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.5, 3_000_000_000, Number.MAX_SAFE_INTEGER));
const text = fc.constantFrom(
  '',
  'a',
  'A',
  'b',
  '1',
  'true',
  'null',
  'é',
  '😀',
  '\uffff',
  '$gt',
  "x' OR 1=1 --",
  'n\0l',
);
const scalar = fc.oneof(number, text, fc.boolean(), fc.constant(null));
const mixed = fc.oneof(scalar, fc.constantFrom([], ['a', [1]], { $gt: 1, 'a.b': null }));
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 4 });

export const thing: fc.Arbitrary<Thing> = fc.record(
  {
    tenant,
    id: fc.constantFrom('1', '2', '3', 'x/y', '10'),
    version: fc.nat({ max: 4 }),
    n: optional(number),
    s: optional(text),
    b: optional(fc.boolean()),
    mixed,
  },
  { requiredKeys: ['tenant', 'id', 'version'], noNullPrototype: true },
);

const range = fc
  .record(
    { gt: scalarLimit(), gte: scalarLimit(), lt: scalarLimit(), lte: scalarLimit() },
    { requiredKeys: [], noNullPrototype: true },
  )
  .filter((limits) => Object.keys(limits).length > 0);
const condition: fc.Arbitrary<Condition> = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 5 }).map((values) => ({ in: values })),
  range,
);
const direction = fc.constantFrom('asc' as const, 'desc' as const);
export const find: fc.Arbitrary<Find> = fc.record(
  {
    tenant: fc.oneof({ weight: 5, arbitrary: tenant }, { weight: 1, arbitrary: fc.constant(null) }),
    where: fc.dictionary(fc.constantFrom('n', 's', 'b', 'mixed', 'id', 'version', 'tenant', 'unknown'), condition, {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    sort: fc.uniqueArray(fc.tuple(fc.constantFrom('n', 's', 'b', 'id', 'version'), direction), {
      maxLength: 2,
      selector: ([field]) => field,
    }),
    limit: fc.integer({ min: 1, max: 8 }),
    skip: fc.nat({ max: 3 }),
  },
  { requiredKeys: ['tenant', 'limit'] },
);

function scalarLimit(): fc.Arbitrary<number | string> {
  return fc.oneof(number, text);
}

type Step =
  | { readonly do: 'insert' | 'put'; readonly doc: Thing }
  | { readonly do: 'replace' | 'deleteVersion'; readonly doc: Thing; readonly expected: number }
  | { readonly do: 'delete'; readonly doc: Thing };

export const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('insert' as const, 'put' as const), doc: thing }),
  fc.record({
    do: fc.constantFrom('replace' as const, 'deleteVersion' as const),
    doc: thing,
    expected: fc.nat({ max: 4 }),
  }),
  fc.record({ do: fc.constant('delete' as const), doc: thing }),
);

export async function take(things: Collection<Thing>, one: Step): Promise<unknown> {
  try {
    if (one.do === 'insert') return await things.insert(one.doc);
    if (one.do === 'put') return await things.put(one.doc);
    if (one.do === 'replace') return await things.replace(one.doc, one.expected);
    if (one.do === 'deleteVersion') return await things.deleteVersion(one.doc.tenant, one.doc.id, one.expected);
    return await things.delete(one.doc.tenant, one.doc.id);
  } catch (error) {
    return toSvcError(error).code;
  }
}

/** Random documents and calls against a model in memory. */
export function documentProperties(setup: () => DocumentsUnderTest, runs: number): void {
  const open = async (name: string) => {
    const spec = { name, unique: [['s']], indexes: [['n'], ['b', 'version']], beside: ['s'] };
    return setup().documents.collection<Thing>(spec);
  };

  test('any query answers as the model does, and never with a document of another tenant', async () => {
    const things = await open('queried');
    const property = fc.asyncProperty(
      fc.array(thing, { maxLength: 20 }),
      fc.array(find, { minLength: 1, maxLength: 6 }),
      async (docs, finds) => {
        await things.deleteMany({ tenant: null });
        const model = new ModelCollection();
        for (const doc of docs) if (await model.insert(doc)) assert.equal(await things.insert(doc), true);
        for (const one of finds) {
          const found = await things.find(one);
          assert.deepEqual(found, await model.find(one), JSON.stringify(one));
          assert.ok(found.every((doc) => one.tenant === null || doc.tenant === one.tenant));
          assert.equal(await things.count(one), await model.count(one));
        }
        const [first] = finds;
        if (first === undefined) return;
        assert.equal(await things.deleteMany(first), await model.deleteMany(first));
        assert.equal(await things.count({ tenant: null }), await model.count({ tenant: null }));
      },
    );
    await fc.assert(property, { numRuns: runs });
  });

  test('any order of inserts, puts, replaces and deletes ends as the model does', async () => {
    const things = await open('stepped');
    const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await things.deleteMany({ tenant: null });
      const model = new ModelCollection();
      for (const one of steps) assert.deepEqual(await take(things, one), await take(model, one), JSON.stringify(one));
      const all: Find = { tenant: null, limit: 100 };
      assert.deepEqual(await things.find(all), await model.find(all));
    });
    await fc.assert(property, { numRuns: runs });
  });
}
