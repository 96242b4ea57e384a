import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sample } from '../support/size.ts';
import { seedOf } from './random.ts';
import type { RawDelivery } from './raw-ledger.ts';
import { checkTraces } from './trace-checks.ts';
import { runTraces, traceLines } from './traces.ts';

const RUNS = sample({ normal: 8, long: 1_000 });

test(`${RUNS} random runs of all kinds under kills and lost answers: the raw ledger holds each append once, one graph a call`, async (context) => {
  const outcome = await runTraces({
    store: 'sqlite',
    runs: RUNS,
    atATime: 12,
    seed: seedOf(process.env),
    runsALife: [1, 5],
  });
  for (const line of traceLines(outcome)) context.diagnostic(line);
  assert.deepEqual(outcome.traces.broken, []);
  assert.ok(outcome.traces.calls >= RUNS);
});

describe('the check of the raw ledger', () => {
  const row = (seq: number, more: Partial<RawDelivery> = {}): RawDelivery => ({
    ...{ partition: 'default:0', seq, at: seq, id: `m${seq}`, cause: seq === 1 ? null : `m${seq - 1}`, trace: 't' },
    ...{ tenant: 'acme', to: 'counter/acme/1', type: 'Add', outcome: 'done', ...more },
  });
  const brokenIn = (deliveries: readonly RawDelivery[], last = 3): string =>
    checkTraces({ deliveries, appended: new Map([['default:0', last]]) }).broken.join('; ');
  const whole = [row(1), row(2), row(3)];

  test('finds no fault in a complete trace, nor in rows that were written twice after a crash', () => {
    assert.equal(brokenIn(whole), '');
    assert.equal(brokenIn([...whole, row(2)]), '');
  });

  test('on Redis it compares the ledger with the streams', () => {
    const outcomes = new Map(whole.map(({ id, outcome }) => [id, outcome]));
    const journal = (deliveries: readonly RawDelivery[], gaps: readonly string[] = []): string =>
      checkTraces({ deliveries, journal: { outcomes, gaps } }).broken.join('; ');
    assert.equal(journal(whole), '');
    assert.match(journal([row(1), row(3, { cause: 'm1' })]), /message m2: appended \(done\), not delivered/);
    assert.match(journal([...whole, row(4)]), /message m4 .*: delivered, not appended/);
    assert.match(journal([row(1), row(2), row(3, { outcome: 'refused' })]), /message m3: done, delivered as refused/);
    assert.equal(journal(whole, ['a gap']), 'a gap');
  });

  test('finds each planted fault', () => {
    for (const [what, deliveries, last] of [
      [/2: appended, not delivered.*orphan/, [row(1), row(3)], 3],
      [/5: delivered, not appended/, [...whole, row(5, { cause: 'm3' })], 3],
      [/two different deliveries/, [...whole, row(2, { outcome: 'refused' })], 3],
      [/message m2 .* at default:0 2 and at default:0 3/, [row(1), row(2), row(3, { id: 'm2' })], 3],
      [/orphan: its cause lost is nowhere/, [row(1), row(2), row(3, { cause: 'lost' })], 3],
      [/2 roots/, [row(1), row(2), row(3, { cause: null })], 3],
      [/has its cause in trace t/, [row(1), row(2), row(3, { trace: 'other' })], 3],
      [/circle/, [row(1), row(2, { cause: 'm3' }), row(3)], 3],
    ] as const) {
      assert.match(brokenIn(deliveries, last), what);
    }
  });
});
