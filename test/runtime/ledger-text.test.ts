import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { packLines, unpackLines } from '../../runtime/ledger/packing.ts';
import { base36, stateDigest } from '../../runtime/turns/digest.ts';
import { rowText } from '../../runtime/turns/pack-commit.ts';

test('lines of a segment are read back unchanged, short or compressed', async () => {
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

test('a row is the same JSON object however it is put together', () => {
  const row = fc.record(
    {
      outcome: fc.constantFrom('done', 'refused', 'retried', 'stale'),
      now: fc.nat(),
      waitMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
      turnUs: fc.nat(),
      digest: fc.constantFrom('', 'S-', 'Sz1Mabc9'),
      error: fc.string(),
      drained: fc.constant([{ body: '{}', outcome: 'done' }]),
    },
    { requiredKeys: ['outcome', 'now', 'waitMs', 'turnUs'] },
  );
  fc.assert(fc.property(row, (one) => assert.deepEqual(JSON.parse(rowText(one)), JSON.parse(JSON.stringify(one)))));
});

test('checksums are written as in earlier versions', () => {
  fc.assert(fc.property(fc.nat({ max: 0xffffffff }), (sum) => assert.equal(base36(sum), sum.toString(36))));
  for (const sum of [0, 35, 36, 1_295, 1_296, 0xffffffff]) assert.equal(base36(sum), sum.toString(36));
});

test('the checksum of a state is the CRC-32 of its text, short or long, in any script', () => {
  const text = fc.oneof(fc.string({ maxLength: 60 }), fc.string({ maxLength: 60, unit: 'grapheme' }));
  fc.assert(fc.property(text, (state) => assert.equal(stateDigest(state), `S${crc32(state).toString(36)}`)));
});
