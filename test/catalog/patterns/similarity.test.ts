import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { errorWords, solutionWords } from '../../../catalog/patterns/normalisation.ts';
import { similarity } from '../../../catalog/patterns/similarity.ts';
import { processorMs } from '../../support/processor-time.ts';

const of = (some: string, other: string): number => similarity(errorWords(some), errorWords(other));

/** From the threshold of 0.85 two errors count as one; below 0.3 neither finds the other. */
const ROWS: readonly (readonly [what: string, some: string, other: string, least: number, most: number])[] = [
  ['numbers', 'exit code 1 after 30s', 'exit code 137 after 2.5s', 1, 1],
  ['line numbers', 'SyntaxError at line 10, column 5', 'SyntaxError at line 2, column 77', 1, 1],
  ['paths', 'cannot open /var/log/a.log', 'cannot open C:\\logs\\b.log', 1, 1],
  ['file names', 'error in user.ts:10:5', 'error in billing.py:3', 1, 1],
  ['UUIDs', 'run 3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a01 lost', 'run 9b1d6c1e-52a4-4a5e-8a55-6f1f0c2b7e02 lost', 1, 1],
  ['hex', 'segfault at 0x7fff5fbff8c0', 'segfault at 0x0', 1, 1],
  ['addresses', 'connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED 10.0.0.7:6379', 1, 1],
  ['quoted values', "Cannot find module 'lodash'", 'cannot find module "react"', 1, 1],
  ['case and endings', 'Connection refused', 'connections REFUSING', 1, 1],
  ['times', 'token expired 2026-01-02T03:04:05Z', 'token expired 2027-11-12 13:14:15.123+02:00', 1, 1],
  ['a paraphrase', 'connection to the database was refused', 'the database refused the connection', 0.85, 1],
  ['apostrophes', "can't read the file", "can't read the files", 1, 1],
  ['another action', 'cannot read properties of undefined', 'cannot set properties of undefined', 0.3, 0.84],
  ['a denial', 'the key is known', 'the key is not known', 0.3, 0.84],
  ['one word of many', 'the archive of the tenant is full', 'mail of the tenant came back', 0, 0.3],
  ['nothing', 'disk is full', 'connection refused', 0, 0],
  ['another script', '接続が拒否されました', '接続が拒否されました: 42', 1, 1],
];

for (const [what, some, other, least, most] of ROWS) {
  test(`${what}: the similarity of "${some}" and "${other}" is ${least} to ${most}`, () => {
    const found = of(some, other);
    assert.ok(found >= least && found <= most, `${found}`);
    assert.equal(of(other, some), found);
  });
}

test('a text that holds nothing but what changes keeps it', () => {
  assert.deepEqual(errorWords('404'), ['404']);
  assert.equal(of('404', '500'), 0);
  assert.deepEqual(errorWords('!!!'), ['!!!']);
  assert.deepEqual([of('!!!', '! !!'), of('🔥', '💥'), of('!!!', '***')], [1, 0, 0]);
  assert.deepEqual([errorWords(''), errorWords(' \n')], [[], []]);
});

test('quoted texts are dropped from an error and kept in a solution', () => {
  assert.deepEqual(errorWords("install 'lodash'"), ['instal']);
  assert.deepEqual(solutionWords("install 'lodash'"), ['instal', 'lodash']);
});

test('the similarity of any two texts is 0 to 1 and symmetric, and of a text to itself 1', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 200 });
  fc.assert(
    fc.property(text, text, (some, other) => {
      const found = of(some, other);
      assert.ok(found >= 0 && found <= 1);
      assert.equal(of(other, some), found);
      assert.equal(of(some, some), 1);
    }),
    { numRuns: 300 },
  );
});

test('the longest texts that can be stored are read in well under a second', () => {
  const long = 65_536;
  for (const unit of [
    'a',
    '9',
    '/',
    "'",
    '"',
    '0x',
    'a/',
    '1.',
    'a-',
    ' :',
    'http://',
    '0123456789abcdef-',
    'é',
    '接',
  ]) {
    const text = unit.repeat(Math.ceil(long / unit.length)).slice(0, long);
    const tookMs = processorMs(() => {
      errorWords(text);
      solutionWords(text);
    });
    assert.ok(tookMs < 3_000, `${JSON.stringify(unit)} took ${tookMs} ms`);
  }
});
