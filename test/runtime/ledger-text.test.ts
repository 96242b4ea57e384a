import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { packLines, unpackLines } from '../../runtime/ledger/packing.ts';

test('lines of a segment come back as they were, short or pressed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 400 }), async (lines) => {
      const text = JSON.stringify(lines);
      assert.equal(await unpackLines(await packLines(text)), text);
    }),
    { numRuns: 100 },
  );
});

test('lines that an earlier version packed are read', async () => {
  const text = JSON.stringify(Array.from({ length: 200 }, (_, n) => [n, 'a delivery of an earlier version']));
  assert.equal(await unpackLines(deflateRawSync(text, { level: 1 }).toString('base64')), text);
});

test('a thousand like deliveries take less than a fifth of their text', async () => {
  const text = JSON.stringify(
    Array.from({ length: 1_000 }, (_, seq) => [seq, 1_700_000_000_000 + seq, 1, { to: 'counter/acme/1' }]),
  );
  assert.ok((await packLines(text)).length < text.length / 5);
});
