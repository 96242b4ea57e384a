import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { JSON_NAMES, JSON_VALUES, measureJson, parseJson } from '../../transport/json-measure.ts';
import { parseJsonBytes } from '../../transport/json-thread.ts';

const MiB = 1024 * 1024;
const place = { field: 'body', what: 'the body', maxDepth: 100 };
const MOST = Number.POSITIVE_INFINITY;
const NONE = { maxDepth: 1_000, maxValues: MOST, maxNames: MOST };
const named = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_one, at) => [`name ${at}`, at])));

/** Counts what `measureJson` counts, from the parsed value. */
function counted(value: unknown): { values: number; names: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, names: 0 };
  const sum = { values: 1, names: Array.isArray(value) ? 0 : Object.keys(value).length };
  for (const inner of Object.values(value)) {
    const within = counted(inner);
    sum.values += within.values;
    sum.names += within.names;
  }
  return sum;
}

describe('JSON of callers', () => {
  test('values and names are counted as a parser would, whatever the white space and the strings', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1, 2, '\t'), (value, space) => {
        const bytes = Buffer.from(JSON.stringify(value, null, space));
        assert.deepEqual(measureJson(bytes, NONE), counted(JSON.parse(bytes.toString())));
      }),
    );
    const odd = Buffer.from('[ [ ] , { } , "a\\\\", "b\\"c,[{:", "\\\\\\"" , {"\\":":1} ]');
    assert.deepEqual(measureJson(odd, NONE), { values: 8, names: 1 });
  });

  const refusals: [title: string, text: string, code: string, says: RegExp][] = [
    ['a name twice', '{"a":1,"b":{"c":1},"a":2}', 'invalid_argument', /same name twice/],
    ['a name twice, once with an escape', '[{"a":1,"\\u0061":2}]', 'invalid_argument', /same name twice/],
    ['__proto__', '{"x":[{"__proto__":1}]}', 'invalid_argument', /__proto__/],
    ['__proto__ with escapes', '{"\\u005f_proto__":{}}', 'invalid_argument', /__proto__/],
    ['a number that is too large', '{"x":[1,-1e400]}', 'invalid_argument', /a number larger than 1\.8e308/],
    ['one value too many', `[${'1,'.repeat(JSON_VALUES - 1)}1]`, 'payload_too_large', /more than 100000 JSON values/],
    ['one name too many', named(JSON_NAMES + 1), 'payload_too_large', /more than 10000 different names/],
    ['no JSON', '{"a":', 'invalid_argument', /not valid JSON/],
  ];
  for (const [title, text, code, says] of refusals) {
    test(`${title} is refused, naming the field, here and on the thread`, async () => {
      const expected = { code, field: 'body', message: says };
      assert.throws(() => parseJson(text, place), expected);
      await assert.rejects(parseJsonBytes(Buffer.from(text), place), expected);
      // White space makes it large enough for the worker thread.
      await assert.rejects(parseJsonBytes(Buffer.from(text + ' '.repeat(MiB)), place), expected);
    });
  }

  test('broken UTF-8 is refused, here and on the thread', async () => {
    for (const length of [10, 2 * MiB]) {
      const bytes = Buffer.alloc(length, 0x22);
      bytes[5] = 0xff;
      const expected = { code: 'invalid_argument', message: /not valid UTF-8/ };
      await assert.rejects(parseJsonBytes(Buffer.concat([Buffer.from('['), bytes]), place), expected);
    }
  });

  test('as many values as may be, and 16 MiB with and without escapes, are what they were', async () => {
    const values: unknown[] = [
      { list: Array.from({ length: JSON_VALUES - 2 }, (_one, at) => at) },
      Object.fromEntries(Array.from({ length: JSON_NAMES }, (_one, at) => [`name ${at}`, `"${at}"\n`])),
      { text: 'é世\n'.repeat(2 * MiB) },
      { text: '\n'.repeat(7 * MiB) },
      Array.from({ length: 30_000 }, (_one, at) => ({ name: at, of: 'one' })),
      [],
    ];
    const read = await Promise.all(values.map((value) => parseJsonBytes(Buffer.from(JSON.stringify(value)), place)));
    assert.deepEqual(read, values);
  });

  test('a thread that cannot take more says so, and goes on', async () => {
    const large = () => parseJsonBytes(Buffer.from(`"${'x'.repeat(2 * MiB)}"`), place);
    const read = await Promise.allSettled(Array.from({ length: 40 }, large));
    const refused = read.filter((one) => one.status === 'rejected');
    assert.equal(refused.length, 8);
    for (const { reason } of refused) assert.equal(reason.code, 'overloaded');
    await large();
  });
});
