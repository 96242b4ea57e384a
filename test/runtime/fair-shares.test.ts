import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Flow } from '../../runtime/effects/effect-envelope.ts';
import { FairLine, FairSlots } from '../../runtime/effects/fair-slots.ts';
import { FairOrder } from '../../runtime/effects/local-slots.ts';

const flow = (tenant: string, key = 'agent'): Flow => ({ tenant, key });
const anyFlow = fc.record({ tenant: fc.constantFrom('a', 'b', 'c'), key: fc.constantFrom('x', 'y', 'z') });
const nameOf = ({ tenant, key }: Flow): string => `${tenant}/${key}`;

describe('a fair queue', () => {
  test('tenants take turns, the agents of each take turns, the jobs of an agent come in order', () => {
    const line = new FairLine<string>();
    for (let n = 0; n < 4; n += 1) line.add(flow('a', 'x'), `a/x ${n}`);
    for (let n = 0; n < 2; n += 1) line.add(flow('a', 'y'), `a/y ${n}`);
    for (let n = 0; n < 3; n += 1) line.add(flow('b', 'x'), `b/x ${n}`);
    const taken = Array.from({ length: 9 }, () => line.take());
    const expected = ['a/x 0', 'b/x 0', 'a/y 0', 'b/x 1', 'a/x 1', 'b/x 2', 'a/y 1', 'a/x 2', 'a/x 3'];
    assert.deepEqual(taken, expected);
    assert.equal(line.size, 0);
    assert.equal(line.take(), undefined);
  });

  test('an item that gets no slot delays no other and keeps its turn', () => {
    const line = new FairLine<string>();
    for (const name of ['a', 'b', 'c']) line.add(flow(name), name);
    assert.equal(
      line.take((item) => item !== 'a'),
      'b',
    );
    assert.equal(line.take(), 'a');
  });

  test('between two jobs of an agent run at most one of each other tenant, and one of each other agent of its tenant a round', () => {
    fc.assert(
      fc.property(fc.array(anyFlow, { minLength: 1, maxLength: 80 }), (flows) => {
        const line = new FairLine<Flow>();
        // An object of its own each, since items are distinguished by identity.
        for (const one of flows) line.add(one, { ...one });
        const taken: Flow[] = [];
        for (let next = line.take(); next !== undefined; next = line.take()) taken.push(next);
        assert.equal(taken.length, flows.length);
        for (const name of ['a', 'b', 'c']) {
          const turns = taken.flatMap(({ tenant }, at) => (tenant === name ? [at] : []));
          for (const [n, at] of turns.entries()) {
            assert.ok(at - (turns[n - 1] ?? at) <= 3, `${name} waits for three tenants`);
          }
          const keys = taken.filter(({ tenant }) => tenant === name).map(({ key }) => key);
          for (const [at, key] of keys.entries()) {
            const before = at === 0 ? -1 : keys.lastIndexOf(key, at - 1);
            assert.ok(before < 0 || at - before <= 3, `${name}/${key} waits for three agents`);
          }
        }
      }),
    );
  });

  test('an item that gives up is removed', () => {
    const line = new FairLine<string>();
    line.add(flow('a'), 'one');
    line.delete(flow('a'), 'one');
    line.delete(flow('a'), 'one');
    assert.equal(line.has(flow('a')), false);
    assert.equal(line.size, 0);
  });
});

describe('slots', () => {
  /** Takes items up to its limit. */
  function fill(slots: FairSlots, of: Flow): number {
    let held = 0;
    for (; slots.mayTake(of); held += 1) slots.take(of);
    return held;
  }
  const opened = (count: number) => {
    const time = { now: 0 };
    return { time, slots: new FairSlots(count, () => time.now) };
  };

  test('an agent that is alone may have all but a few slots, and all when there are few', () => {
    assert.equal(fill(opened(32).slots, flow('a')), 28);
    assert.equal(fill(opened(16).slots, flow('a')), 14);
    assert.equal(fill(opened(4).slots, flow('a')), 4);
  });

  test('a new agent finds a free slot while another agent of its tenant uses its maximum, and so does another tenant', () => {
    const { slots } = opened(32);
    fill(slots, flow('a', 'hung'));
    assert.ok(slots.mayTake(flow('a', 'newcomer')));
    slots.take(flow('a', 'newcomer'));
    assert.ok(slots.mayTake(flow('b')));
  });

  test('while others are active, an agent has two thirds to three quarters; an hour later it counts as alone again', () => {
    const { slots, time } = opened(32);
    slots.mayTake(flow('a', 'other'));
    assert.equal(fill(slots, flow('a', 'busy')), 23);
    for (let n = 0; n < 23; n += 1) slots.giveBack(flow('a', 'busy'));
    time.now += 60 * 60_000 + 1;
    assert.equal(fill(slots, flow('a', 'busy')), 28);
  });

  test('for any order of takes and returns: never more slots than exist, and a tenant without one gets a free one', () => {
    const step = fc.record({ of: anyFlow, takes: fc.boolean() });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 200 }), (count, steps) => {
        const { slots } = opened(count);
        const held = new Map<string, number>();
        const heldBy = (tenant: string) =>
          [...held].reduce((sum, [name, n]) => sum + (name.startsWith(`${tenant}/`) ? n : 0), 0);
        for (const { of, takes } of steps) {
          const name = nameOf(of);
          const mine = held.get(name) ?? 0;
          if (!takes && mine > 0) {
            slots.giveBack(of);
            held.set(name, mine - 1);
          } else if (takes) {
            const may = slots.mayTake(of);
            if (heldBy(of.tenant) === 0) assert.equal(may, slots.free > 0);
            if (!may) continue;
            slots.take(of);
            held.set(name, mine + 1);
          }
          const all = [...held.values()].reduce((sum, n) => sum + n, 0);
          assert.equal(slots.free, count - all);
          assert.ok(slots.free >= 0);
        }
      }),
    );
  });
});

describe('the order of jobs in a queue of a fleet', () => {
  /** What the queue does with the numbers: the lowest first, of equal ones the oldest. */
  class Queue {
    readonly #order = new FairOrder();
    readonly #jobs: { readonly number: number; readonly at: number; readonly of: Flow }[] = [];
    #at = 0;

    add(of: Flow): void {
      this.#jobs.push({ number: this.#order.next(of), at: this.#at++, of });
    }

    take(): Flow | undefined {
      this.#jobs.sort((one, other) => one.number - other.number || one.at - other.at);
      const job = this.#jobs.shift();
      if (job === undefined) this.#order.empty();
      else this.#order.taken(job.number);
      return job?.of;
    }
  }

  test('a new tenant or agent is served among the next, however many jobs another has queued', () => {
    const queue = new Queue();
    for (let n = 0; n < 1_000; n += 1) queue.add(flow('a', 'noisy'));
    for (let n = 0; n < 5; n += 1) queue.take();
    queue.add(flow('a', 'quiet'));
    queue.add(flow('b'));
    const next = Array.from({ length: 4 }, () => queue.take());
    assert.ok(next.some((one) => one?.key === 'quiet'));
    assert.ok(next.some((one) => one?.tenant === 'b'));
  });

  test('a tenant of many agents has one turn among the tenants, not one for each agent', () => {
    const queue = new Queue();
    for (let n = 0; n < 100; n += 1) for (let agent = 0; agent < 10; agent += 1) queue.add(flow('a', `${agent}`));
    for (let n = 0; n < 100; n += 1) queue.add(flow('b'));
    const first = Array.from({ length: 100 }, () => queue.take()?.tenant);
    const ofB = first.filter((tenant) => tenant === 'b').length;
    assert.ok(ofB >= 40 && ofB <= 60, `${ofB} of 100`);
  });

  test('every job is taken in the end, whatever other jobs arrive', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ of: anyFlow, takes: fc.boolean() }), { maxLength: 200 }), (steps) => {
        const queue = new Queue();
        queue.add(flow('d', 'early'));
        let until = 0;
        let isTaken = false;
        for (const { of, takes } of steps) {
          queue.add(of);
          if (!takes || isTaken) continue;
          until += 1;
          isTaken = queue.take()?.tenant === 'd';
        }
        // Of the three other tenants each may have had its turn before.
        assert.ok(isTaken || until <= 4, `${until} were taken before it`);
      }),
    );
  });
});
