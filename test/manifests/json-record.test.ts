import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { z } from 'zod';
import { jsonRecord } from '../../manifests/tool/json-record.ts';

const library = z.record(z.string(), z.json());

const values: readonly unknown[] = [
  {},
  { a: 1, b: 'two', c: null, d: [true, { e: [] }], '': -0 },
  JSON.parse('{"__proto__": {"a": 1}, "b": {"__proto__": 2, "c": 3}}'),
  Object.create(null),
  Object.assign(Object.create(null), { a: Object.create(null) }),
  ...[null, undefined, 1, 'text', [], [{}], new Map(), new Date(0)],
  ...[
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1n,
    () => 1,
    Symbol('s'),
    new Date(0),
    new (class Own {})(),
  ].flatMap((inner) => [{ a: inner }, { a: [inner] }, { a: { b: inner } }]),
];

test('jsonRecord takes and returns what the schema of the library does', () => {
  for (const value of values) {
    const [ours, theirs] = [jsonRecord.safeParse(value), library.safeParse(value)];
    assert.equal(ours.success, theirs.success, inspect(value));
    assert.deepEqual(ours.data, theirs.data);
  }
});

test('jsonRecord returns a valid object itself, optional or not, and names the place of a fault', () => {
  const value = { a: [{ b: 1 }] };
  const schema = z.object({ one: jsonRecord, other: jsonRecord.optional() });
  assert.equal(schema.parse({ one: value }).one, value);
  assert.equal(schema.parse({ one: {}, other: value }).other, value);
  const { error } = schema.safeParse({ one: { a: Number.NaN } });
  assert.deepEqual(error?.issues[0]?.path, ['one', 'a']);
  assert.deepEqual(
    schema.safeParse({}).error?.issues.map(({ path }) => path),
    [['one']],
  );
});
