import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GONE, KeyMerger, RunCursor } from '../../runtime/ledger/key-merger.ts';
import { decodeKeys, KeyPages } from '../../runtime/ledger/key-pages.ts';
import type { KeyRun } from '../../runtime/ledger/key-run.ts';
import { KeySorter } from '../../runtime/ledger/key-sort.ts';

const BITS = 53;

/** Few hashes, so that many are equal, or hashes spread over all bits. */
const hash = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 2 ** 40 - 1 }));

test('keys are sorted by hash and segment, also when most of them share a hash', () => {
  const sorter = new KeySorter();
  const value = fc.tuple(hash, fc.nat({ max: 8_191 })).map(([one, ordinal]) => one * 8_192 + ordinal);
  fc.assert(
    fc.property(fc.array(value, { maxLength: 3_000 }), (all) => {
      const values = Float64Array.from(all);
      assert.deepEqual(
        [...sorter.sort(values, values.length, BITS)],
        all.toSorted((a, b) => a - b),
      );
    }),
    { numRuns: 50 },
  );
});

type Key = readonly [hash: number, segment: number];

const bySegment = ([a, b]: Key, [c, d]: Key): number => a - c || b - d;

/** A run with its pages; segment `n` has the number `first + n` in the merged run, unless it was removed. */
function cursorOf(keys: readonly Key[], first: number, gone: ReadonlySet<number>): RunCursor {
  const pages = new KeyPages();
  for (const [one, segment] of keys.toSorted(bySegment)) pages.add(one, segment);
  pages.finish();
  const run: KeyRun = {
    ...{ tenant: 'svc', id: `run-${first}`, version: 2, node: 'node-a', level: 0, state: 'live', written_at: 1 },
    ...{ from_at: 1, to_at: 1, last_round: 1, keys: keys.length, segments: SEGMENTS },
    parts: { fences: pages.fences, replaces: [] },
  };
  const numbers = Uint32Array.from({ length: SEGMENTS }, (_, at) => (gone.has(at) ? GONE : first + at));
  const keyPage = async (_run: KeyRun, page: number) => decodeKeys(pages.full[page] ?? '');
  return new RunCursor({ keyPage }, run, numbers);
}

const SEGMENTS = 40;

test('a merge of runs keeps each key of a segment that exists, in order of the hashes, over the ends of pages', async () => {
  const key = fc.tuple(hash, fc.nat({ max: SEGMENTS - 1 }));
  // Runs of several pages are made of the same keys again and again.
  const run = fc.tuple(fc.array(key, { maxLength: 30 }), fc.constantFrom(1, 1, 200)).map(([keys, times]) => {
    const all: Key[] = [];
    for (let time = 0; time < times; time += 1) all.push(...keys);
    return all;
  });
  const gone = fc.uniqueArray(fc.nat({ max: SEGMENTS - 1 }), { maxLength: SEGMENTS });
  await fc.assert(
    fc.asyncProperty(fc.array(run, { maxLength: 9 }), gone, async (runs, removed) => {
      const isGone = new Set(removed);
      let left: RunCursor[] = [];
      for (const [at, keys] of runs.entries()) {
        const cursor = cursorOf(keys, at * SEGMENTS, isGone);
        if (await cursor.load()) left.push(cursor);
      }
      const merged: Key[] = [];
      const merger = new KeyMerger();
      while (left.length > 0) {
        const ended = merger.mergeInto({ addKey: (one, segment) => merged.push([one, segment]) }, left);
        assert.ok(ended.length > 0);
        for (const cursor of ended) if (!(await cursor.load())) left = left.filter((one) => one !== cursor);
      }
      const hashes = merged.map(([one]) => one);
      assert.deepEqual(
        hashes,
        hashes.toSorted((a, b) => a - b),
      );
      const kept = runs.flatMap((keys, at) =>
        keys.filter(([, segment]) => !isGone.has(segment)).map(([one, segment]): Key => [one, at * SEGMENTS + segment]),
      );
      assert.deepEqual(merged.toSorted(bySegment), kept.toSorted(bySegment));
    }),
    { numRuns: 60 },
  );
});
