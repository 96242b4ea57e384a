import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Descending, type Entry, newestOfTwo } from '../../../tools/management/agent/tools.ts';

const entry = (log: string, at: number, index: number): Entry => ({
  event_type: `${log}${index}`,
  payload: {},
  recorded_at: new Date(at).toISOString(),
});

/** Newest first, counting what is read. */
function logOf(name: string, times: readonly number[], reads: { entries: number }): Descending & { all: Entry[] } {
  const all = times.toSorted((a, b) => b - a).map((at, index) => entry(name, at, index));
  return {
    all,
    total: all.length,
    async read(skip, limit) {
      assert.ok(skip >= 0 && skip < all.length && limit >= 1, `asked for ${limit} from ${skip} of ${all.length}`);
      const page = all.slice(skip, skip + limit);
      reads.entries += page.length;
      return page;
    },
  };
}

const times = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 60 });

test('a page over two logs equals the page of the merged log, and costs one page of each', async () => {
  await fc.assert(
    fc.asyncProperty(times, times, fc.nat(130), fc.integer({ min: 1, max: 20 }), async (a, b, offset, limit) => {
      const reads = { entries: 0 };
      const [first, second] = [logOf('a', a, reads), logOf('b', b, reads)];
      const whole = [...first.all, ...second.all].toSorted((x, y) => y.recorded_at.localeCompare(x.recorded_at));
      const page = await newestOfTwo(first, second, { limit, offset });
      assert.deepEqual(page, whole.slice(offset, offset + limit));
      assert.ok(reads.entries <= 2 * limit + 2 * 7, `${reads.entries} entries read`);
    }),
    { numRuns: 500 },
  );
});
