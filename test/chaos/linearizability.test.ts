import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { processorMs } from '../support/processor-time.ts';
import { checkRegister, type Operation, type RegisterCall } from './linearizability.ts';

const read: RegisterCall = { kind: 'read' };
const write = (value: number): RegisterCall => ({ kind: 'write', value });
const swap = (from: number, to: number): RegisterCall => ({ kind: 'swap', from, to });

type Line = readonly [call: RegisterCall, calledAt: number, answeredAt: number | null, answer?: number | boolean];

const history = (...lines: readonly Line[]): Operation[] =>
  lines.map(([call, calledAt, answeredAt, answer = null], client) => ({ client, call, calledAt, answeredAt, answer }));

const verdictOf = (...lines: readonly Line[]): string => checkRegister(history(...lines)).kind;

test('an empty history and one that follows its own order are linearizable', () => {
  assert.equal(verdictOf(), 'linearizable');
  assert.equal(verdictOf([write(1), 0, 1], [read, 2, 3, 1], [swap(1, 2), 4, 5, true], [read, 6, 7, 2]), 'linearizable');
});

test('calls at the same time may take effect in either order', () => {
  assert.equal(verdictOf([write(1), 0, 10], [write(2), 0, 10], [read, 11, 12, 1]), 'linearizable');
  assert.equal(verdictOf([write(1), 0, 10], [write(2), 0, 10], [read, 11, 12, 2]), 'linearizable');
  assert.equal(verdictOf([write(1), 0, 10], [read, 1, 2, 0], [read, 3, 4, 1]), 'linearizable');
});

test('a stale read is an anomaly', () => {
  assert.equal(verdictOf([write(1), 0, 1], [read, 2, 3, 0]), 'anomaly');
  assert.equal(verdictOf([write(1), 0, 10], [read, 1, 2, 1], [read, 3, 4, 0]), 'anomaly');
});

test('a lost write, an old value that returns and a value that was never written are anomalies', () => {
  assert.equal(verdictOf([write(1), 0, 1], [write(2), 2, 3], [read, 4, 5, 1]), 'anomaly');
  assert.equal(verdictOf([write(1), 0, 1], [write(2), 2, 3], [read, 4, 5, 2], [read, 6, 7, 1]), 'anomaly');
  assert.equal(verdictOf([read, 0, 1, 7]), 'anomaly');
});

test('of two swaps from one value exactly one succeeds', () => {
  assert.equal(verdictOf([swap(0, 1), 0, 10, true], [swap(0, 2), 0, 10, true]), 'anomaly');
  assert.equal(verdictOf([swap(0, 1), 0, 10, false], [swap(0, 2), 0, 10, false]), 'anomaly');
  assert.equal(verdictOf([swap(0, 1), 0, 10, true], [swap(0, 2), 0, 10, false]), 'linearizable');
});

test('an unanswered write may have happened, may happen late or never, but happens at most once', () => {
  assert.equal(verdictOf([write(1), 0, null], [read, 5, 6, 1]), 'linearizable');
  assert.equal(verdictOf([write(1), 0, null], [read, 5, 6, 0], [read, 50, 51, 1]), 'linearizable');
  assert.equal(verdictOf([write(1), 0, null], [read, 5, 6, 0]), 'linearizable');
  assert.equal(
    verdictOf([write(1), 0, null], [read, 5, 6, 1], [write(2), 7, 8], [read, 9, 10, 2], [read, 11, 12, 1]),
    'anomaly',
  );
  assert.equal(verdictOf([write(1), 5, null], [read, 0, 1, 1]), 'anomaly');
});

test('an unanswered swap has an effect only where it could swap', () => {
  assert.equal(verdictOf([swap(0, 1), 0, null], [read, 5, 6, 1]), 'linearizable');
  assert.equal(verdictOf([write(3), 0, 1], [swap(0, 1), 2, null], [read, 5, 6, 1]), 'anomaly');
});

const calls = fc.array(
  fc.record({
    call: fc.oneof(
      fc.constant(read),
      fc.integer({ min: 1, max: 4 }).map(write),
      fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 4 })).map(([from, to]) => swap(from, to)),
    ),
    /** How far a call extends before and after its moment. */
    before: fc.integer({ min: 0, max: 40 }),
    behind: fc.integer({ min: 0, max: 40 }),
    isAnswered: fc.boolean(),
    happens: fc.boolean(),
  }),
  { maxLength: 60 },
);

/** Runs the calls one after the other on a register; in the history they overlap their neighbours. */
function stretched(
  plan: readonly { call: RegisterCall; before: number; behind: number; isAnswered: boolean; happens: boolean }[],
) {
  let value = 0;
  return plan.map(({ call, before, behind, isAnswered, happens }, index): Operation => {
    const at = index * 10;
    const swaps = call.kind === 'swap' && call.from === value;
    const answer = call.kind === 'read' ? value : call.kind === 'swap' ? swaps : null;
    if (isAnswered || happens) {
      if (call.kind === 'write') value = call.value;
      if (call.kind === 'swap' && swaps) value = call.to;
    }
    return { client: index, call, calledAt: at - before, answeredAt: isAnswered ? at + behind : null, answer };
  });
}

test('the calls of a sequential register are linearizable, however they overlap', () => {
  fc.assert(
    fc.property(calls, (plan) => checkRegister(stretched(plan)).kind === 'linearizable'),
    { numRuns: 300 },
  );
});

test('a read of a value that was not there at any moment of the call is found in any history', () => {
  fc.assert(
    fc.property(calls, fc.nat(), (plan, at) => {
      const wrong = stretched(plan).map((one) => ({ ...one }));
      const last = wrong.length * 10;
      const found = { client: 99, call: read, calledAt: last + at, answeredAt: last + at + 5, answer: 77 };
      return checkRegister([...wrong, found]).kind === 'anomaly';
    }),
    { numRuns: 200 },
  );
});

/** Tries all orders one by one: slow and obviously right. */
function bruteForce(left: readonly Operation[], value: number): boolean {
  if (left.every(({ answeredAt }) => answeredAt === null)) return true;
  const earliest = Math.min(...left.map(({ answeredAt }) => answeredAt ?? Number.POSITIVE_INFINITY));
  return left.some((one) => {
    if (one.calledAt > earliest) return false;
    const rest = left.filter((other) => other !== one);
    const { call, answer, answeredAt } = one;
    if (call.kind === 'write') return bruteForce(rest, call.value);
    if (call.kind === 'read') return (answeredAt === null || answer === value) && bruteForce(rest, value);
    const swaps = call.from === value;
    return (answeredAt === null || answer === swaps) && bruteForce(rest, swaps ? call.to : value);
  });
}

test('it agrees with a search of all orders, on right and on wrong histories', () => {
  const small = fc.array(
    fc.record({
      client: fc.constant(0),
      call: fc.oneof(
        fc.constant(read),
        fc.integer({ min: 1, max: 2 }).map(write),
        fc.constant(swap(1, 2)),
        fc.constant(swap(0, 1)),
      ),
      calledAt: fc.integer({ min: 0, max: 20 }),
      tookMs: fc.option(fc.integer({ min: 0, max: 15 })),
      value: fc.integer({ min: 0, max: 2 }),
      swapped: fc.boolean(),
    }),
    { maxLength: 6 },
  );
  let wrong = 0;
  fc.assert(
    fc.property(small, (lines) => {
      const operations = lines.map(({ client, call, calledAt, tookMs, value, swapped }): Operation => {
        const answer = call.kind === 'read' ? value : call.kind === 'swap' ? swapped : null;
        return { client, call, calledAt, answeredAt: tookMs === null ? null : calledAt + tookMs, answer };
      });
      const isRight = bruteForce(operations, 0);
      if (!isRight) wrong += 1;
      return checkRegister(operations).kind === (isRight ? 'linearizable' : 'anomaly');
    }),
    { numRuns: 2_000 },
  );
  assert.ok(wrong > 100, `only ${wrong} wrong histories were tried`);
});

test('a long history is checked in a short time', () => {
  const plan = Array.from({ length: 6_000 }, (_, index) => ({
    call: index % 3 === 0 ? write(index) : index % 3 === 1 ? read : swap(index - 2, index),
    before: 35,
    behind: 35,
    isAnswered: index % 50 !== 0,
    happens: index % 100 === 0,
  }));
  const tookMs = processorMs(() => assert.equal(checkRegister(stretched(plan)).kind, 'linearizable'));
  assert.ok(tookMs < 5_000, `${tookMs} ms`);
});
