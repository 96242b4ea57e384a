import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../runtime/clock.ts';
import { hashOf } from '../../runtime/ledger/key-hash.ts';
import { decodeKeys, KeyPages } from '../../runtime/ledger/key-pages.ts';
import { KeyRunWriter } from '../../runtime/ledger/key-run.ts';
import { KeyRuns } from '../../runtime/ledger/key-runs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { numbersFrom } from '../contract/ledger-driver.ts';

test('keys come back from their pages as they were', () => {
  const key = fc.tuple(fc.nat({ max: 2 ** 40 - 1 }), fc.nat({ max: 2 ** 32 - 2 }));
  fc.assert(
    fc.property(fc.array(key, { maxLength: 200 }), (keys) => {
      const sorted = keys.toSorted(([a, b], [c, d]) => a - c || b - d);
      const pages = new KeyPages();
      for (const [hash, ordinal] of sorted) pages.add(hash, ordinal);
      pages.finish();
      const read = pages.full.map(decodeKeys);
      const pairs = read.flatMap(({ hashes, ordinals }) => [...hashes].map((hash, at) => [hash, ordinals[at]]));
      assert.deepEqual(pairs, sorted);
    }),
  );
});

test('a key is found in every segment that has it, over the ends of pages', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-keys-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  try {
    const runs = await KeyRuns.open({ documents, clock: systemClock });
    const writer = new KeyRunWriter(runs.collections, { id: 'run', node: 'node-a', level: 0 }, 0);
    const segments = 3_000;
    for (let at = 0; at < segments; at += 1)
      await writer.addSegment({ tenant: 'acme', id: `s${at}`, last: 1, from: at, to: at, writer: 'node-a', round: 1 });
    const number = numbersFrom(7);
    // Some keys are in one segment, some in enough to fill pages.
    const keys = Array.from({ length: 60 }, (_, at) => ({
      hash: hashOf('trace', 'acme', `t${at}`),
      held: Array.from({ length: segments }, (_segment, one) => one).filter(
        () => number(at % 3 === 0 ? 1_000 : 2) === 0,
      ),
    })).sort((a, b) => a.hash - b.hash);
    for (const { hash, held } of keys) for (const ordinal of held) writer.addKey(hash, ordinal);
    const run = await writer.finish(1, []);
    assert.ok(run !== null && run.parts.fences.length > 3, 'several pages');
    for (const { hash, held } of keys) {
      const found = await runs.find('acme', hash);
      assert.deepEqual(found.map(({ id }) => id).sort(), held.map((at) => `s${at}`).sort());
      assert.deepEqual(await runs.find('beta', hash), []);
    }
    assert.deepEqual(await runs.find('acme', hashOf('trace', 'acme', 'unknown')), []);
  } finally {
    await documents.close();
    await rm(directory, { recursive: true });
  }
});
