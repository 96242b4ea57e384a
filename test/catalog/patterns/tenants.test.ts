import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { type OpenedStore, openSqlite } from '../document-stores.ts';
import { HandClock, openPatterns, pattern } from './open-patterns.ts';

let store: OpenedStore;
before(async () => {
  store = await openSqlite();
});
after(() => store.stop());

/** Few, so that tenants store the same and nearly the same. */
const error = fc
  .array(fc.constantFrom('disk', 'network', 'full', 'lost', 'timeout', 'the', '17', '"x"'), {
    minLength: 1,
    maxLength: 4,
  })
  .map((words) => words.join(' '));
const solution = fc.constantFrom('restart the service', 'add memory', 'wait and retry');
const step = fc.record({ tenant: fc.nat(2), store: fc.boolean(), error, solution, advanceDays: fc.nat(3) });

test('no pattern of another tenant is ever found, listed or counted, in any order of calls of three tenants', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new HandClock();
      const patterns = await openPatterns(store.documents, { clock, max_per_tenant: 6 });
      const tenants = [0, 1, 2].map((at) => `t${at}-${randomUUID()}`);
      /** How often each tenant stored, and under which ids. */
      const own = tenants.map(() => ({ stores: 0, ids: new Set<string>() }));
      for (const { tenant: at, store: stores, error: text, solution: solved, advanceDays } of steps) {
        clock.nowMs += advanceDays * 86_400_000;
        const tenant = tenants[at] ?? assert.fail();
        const mine = own[at] ?? assert.fail();
        if (stores) {
          const stored = await patterns.store(tenant, pattern(text, { solutionApproach: `${solved} of ${tenant}` }));
          mine.stores += 1;
          mine.ids.add(stored.pattern_id);
          assert.ok(stored.new_frequency <= mine.stores);
        }
        const found = [
          ...(await patterns.query(tenant, { errorSignature: text, minSimilarity: 0, limit: 100 })),
          ...(await patterns.list(tenant, { limit: 100, skip: 0 })).items,
        ];
        for (const { pattern_id, solution_approach } of found) {
          assert.ok(mine.ids.has(pattern_id));
          assert.ok(solution_approach.endsWith(tenant));
        }
        const listed = (await patterns.list(tenant, { limit: 100, skip: 0 })).items;
        assert.ok(listed.length <= 6);
      }
    }),
    { numRuns: 30 },
  );
});

test('the same text stored by three tenants is three patterns, each counted alone', async () => {
  const patterns = await openPatterns(store.documents);
  const tenants = ['a', 'b', 'c'].map((name) => `${name}-${randomUUID()}`);
  for (const [at, tenant] of tenants.entries()) {
    for (let times = 0; times <= at; times += 1) await patterns.store(tenant, pattern('disk is full'));
  }
  for (const [at, tenant] of tenants.entries()) {
    const found = await patterns.query(tenant, { errorSignature: 'disk is full' });
    assert.deepEqual(
      found.map(({ frequency }) => frequency),
      [at + 1],
    );
  }
});
