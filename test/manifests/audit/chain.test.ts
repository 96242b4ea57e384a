import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalHash, canonicalText } from '../../../manifests/audit/record.ts';

test('the hash of a value is that of its RFC 8785 form', () => {
  assert.equal(canonicalHash({ b: 1, a: ['é', 1e21] }), hash('sha256', '{"a":["é",1e+21],"b":1}', 'hex'));
});

test('the canonical text of a value is the one that the library writes', () => {
  const name = fc.oneof(fc.string(), fc.constantFrom('10', '9', '01', '__proto__', 'toJSON', '\u20ac', '\ufb33', '😀'));
  const values = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium' },
      ...[
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
      ],
      fc.array(fc.oneof(tie('value'), fc.constant(undefined))),
      fc.dictionary(name, fc.oneof(tie('value'), fc.constant(undefined))),
    ),
  }));
  fc.assert(fc.property(values.value, (value) => canonicalText(value) === canonicalize(value)));
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`n${(at * 37) % 100}`, at]));
  const unusual = [
    new Date(0),
    { a: new Map() },
    { a: { toJSON: () => ({ b: 1 }) } },
    Array.from({ length: 300 }).reduce((inner) => [inner], {}),
  ];
  for (const value of [many, ...unusual]) assert.equal(canonicalText(value), canonicalize(value));
});

test('half a surrogate pair counts as what UTF-8 makes of it, in texts and in names', () => {
  const halves = { 'x\ud800': ['\udfff', '\\ud800', 'a\\\ud83d', '😀'] };
  assert.equal(canonicalHash(halves), canonicalHash({ 'x\ufffd': ['\ufffd', '\\ud800', 'a\\\ufffd', '😀'] }));
});

test('every JSON value has a hash, whatever its texts hold', () => {
  const json = fc.jsonValue({ stringUnit: 'binary' });
  fc.assert(fc.property(json, (value) => /^[0-9a-f]{64}$/.test(canonicalHash(value))));
  const text = fc.array(fc.integer({ min: 0xd700, max: 0xe0ff })).map((codes) => String.fromCharCode(...codes));
  fc.assert(fc.property(text, (value) => canonicalHash({ value }) === canonicalHash({ value: value.toWellFormed() })));
});

test('what JSON does not hold has none', () => {
  assert.throws(() => canonicalHash({ value: Number.NaN }));
});
