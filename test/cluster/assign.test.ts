import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assign, type Candidate, capsOf, headStart, shuffled } from '../../cluster/placement/assign.ts';

const node = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,11}$/);
const weight = fc.oneof(fc.constant(1), fc.double({ min: 0.1, max: 100, noNaN: true }));
const fleetOf = (weights: fc.Arbitrary<number>, most = 24): fc.Arbitrary<Candidate[]> =>
  fc.uniqueArray(fc.record({ node, weight: weights }), {
    minLength: 1,
    maxLength: most,
    selector: (member) => member.node,
  });
const layoutOf = (most: number): fc.Arbitrary<{ pool: string; partitions: number }> =>
  fc.record({ pool: fc.constantFrom('default', 'system', '+gpu'), partitions: fc.integer({ min: 1, max: most }) });

function loadsOf(holders: readonly string[], members: readonly Candidate[]): number[] {
  return members.map((member) => holders.filter((holder) => holder === member.node).length);
}

test('every partition has one holder among the members, and no member holds more than its cap', () => {
  fc.assert(
    fc.property(layoutOf(600), fleetOf(weight), (layout, members) => {
      const holders = assign(layout, members);
      assert.equal(holders.length, layout.partitions);
      const nodes = new Set(members.map((member) => member.node));
      assert.ok(holders.every((holder) => nodes.has(holder)));
      const caps = capsOf(layout.partitions, members);
      for (const [at, load] of loadsOf(holders, members).entries()) assert.ok(load <= (caps[at] ?? 0));
    }),
  );
});

test('the order of the members is irrelevant', () => {
  const shuffledFleet = fleetOf(weight).chain((members) =>
    fc.tuple(fc.constant(members), fc.shuffledSubarray(members, { minLength: members.length })),
  );
  fc.assert(
    fc.property(layoutOf(300), shuffledFleet, (layout, [members, others]) => {
      assert.deepEqual(assign(layout, others), assign(layout, members));
    }),
  );
});

test('the order is irrelevant as well for members that come to each partition at the same time', () => {
  const seen = new Map<number, string>();
  const twins = ((): Candidate[] => {
    for (let n = 0; n < 1_000_000; n += 1) {
      const start = headStart('default', `n${n}`);
      const other = seen.get(start);
      if (other !== undefined) return [other, `n${n}`].map((id) => ({ node: id, weight: 1 }));
      seen.set(start, `n${n}`);
    }
    throw new Error('no two nodes with the same head start');
  })();
  for (let partitions = 1; partitions <= 64; partitions += 1) {
    const layout = { pool: 'default', partitions };
    assert.deepEqual(assign(layout, twins.toReversed()), assign(layout, twins));
  }
});

test('no member is more than a tenth above its share, or one partition where shares are small', () => {
  fc.assert(
    fc.property(layoutOf(2_000), fleetOf(weight), (layout, members) => {
      const total = members.reduce((sum, member) => sum + member.weight, 0);
      for (const [at, load] of loadsOf(assign(layout, members), members).entries()) {
        const share = (layout.partitions * (members[at]?.weight ?? 0)) / total;
        assert.ok(load <= Math.max(1.1 * share, share + 1));
      }
    }),
  );
});

/** Whether every member is below its cap: then the result is plain rendezvous hashing. */
const roomy = (holders: readonly string[], members: readonly Candidate[]): boolean =>
  loadsOf(holders, members).every((load, at) => load < (capsOf(holders.length, members)[at] ?? 0));

test('while no member is full, a leaving member moves only its own partitions, and a joining one takes only for itself', () => {
  let checked = 0;
  fc.assert(
    fc.property(fleetOf(fc.constant(1), 5), node, (members, other) => {
      fc.pre(members.every((member) => member.node !== other));
      const layout = { pool: 'default', partitions: 4_096 };
      const more = [...members, { node: other, weight: 1 }];
      const [without, withIt] = [assign(layout, members), assign(layout, more)];
      if (members.length > 1 && !(roomy(without, members) && roomy(withIt, more))) return;
      checked += 1;
      for (const [at, holder] of withIt.entries()) assert.ok(holder === other || holder === without[at]);
    }),
    { numRuns: 60 },
  );
  assert.ok(checked >= 10, `only ${checked} fleets had room`);
});

test('a member that leaves a fleet of twenty moves at most twice its own, one that joins at most twice what it takes', () => {
  const layout = { pool: 'default', partitions: 1_024 };
  const members = Array.from({ length: 20 }, (_, n) => ({ node: `node-${n}`, weight: 1 + (n % 3) }));
  const before = assign(layout, members);
  for (const gone of members) {
    const rest = members.filter((member) => member !== gone);
    const after = assign(layout, rest);
    // Read backwards, the same member joins: the answer depends only on the current members.
    const moved = before.filter((holder, at) => holder !== after[at]).length;
    const own = before.filter((holder) => holder === gone.node).length;
    assert.ok(moved <= 2 * own, `${gone.node}: ${moved} moved, ${own} were its own`);
  }
});

test('shares follow the weights', () => {
  const members = [1, 2, 4].map((share) => ({ node: `weight-${share}`, weight: share }));
  const [one = 0, two = 0, four = 0] = loadsOf(assign({ pool: 'default', partitions: 7_000 }, members), members);
  assert.ok(Math.abs(one - 1_000) <= 100 && Math.abs(two - 2_000) <= 200 && Math.abs(four - 4_000) <= 400);
});

test('pools of the same size are spread differently', () => {
  const members = Array.from({ length: 8 }, (_, n) => ({ node: `node-${n}`, weight: 1 }));
  const holders = ['+a', '+b', '+c', '+d'].map((pool) => assign({ pool, partitions: 1 }, members)[0]);
  assert.ok(new Set(holders).size > 1);
});

test('without members no partition has a holder', () => {
  assert.deepEqual(assign({ pool: 'default', partitions: 8 }, []), []);
});

test('a shuffle draws each number once', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 3_000 }), (seed, count) => {
      const draw = shuffled(seed, count);
      const drawn = Array.from({ length: count }, draw);
      assert.equal(new Set(drawn).size, count);
      assert.ok(drawn.every((number) => number >= 0 && number < count));
      assert.equal(draw(), -1);
    }),
  );
});
