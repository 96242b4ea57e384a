import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { SvcError } from '../../runtime/errors.ts';
import { systemRandom } from '../../runtime/random.ts';
import { Admission, type AdmissionLimits } from '../../usecases/starts/admission.ts';
import { HandClock } from '../support/hand-clock.ts';

const LIMITS = { starts_in_flight: 4, start_wait_ms: 1_000 };
const BURST = { starts_in_flight: 600, start_wait_ms: 1_000 };

function setup(limits: AdmissionLimits = LIMITS) {
  const clock = new HandClock();
  const changes: boolean[] = [];
  const admission = new Admission({
    limits,
    clock,
    random: systemRandom,
    onChange: (refuses) => void changes.push(refuses),
  });
  const waiting: (() => void)[] = [];
  return {
    clock,
    changes,
    admission,
    waiting,
    /** Offers `count` requests; returns how many were accepted. */
    offer(count: number): number {
      const before = waiting.length;
      for (let n = 0; n < count; n += 1) {
        try {
          waiting.push(admission.enter());
        } catch {
          // It is refused.
        }
      }
      return waiting.length - before;
    },
    end(count: number): void {
      for (const ended of waiting.splice(0, count)) ended();
    },
  };
}

function refusalOf(admission: Admission): SvcError {
  try {
    admission.enter();
  } catch (thrown) {
    if (thrown instanceof SvcError) return thrown;
    throw thrown;
  }
  throw new Error('the start was taken');
}

describe('admission of starts', () => {
  test('a fixed number of starts is always accepted, however slow they are; one more is overloaded with a time to retry', async () => {
    const { admission, offer, clock } = setup();
    assert.equal(offer(10), 4);
    await clock.pass(60_000);
    const refusal = refusalOf(admission);
    assert.equal(refusal.code, 'overloaded');
    assert.equal(refusal.row.http, 503);
    assert.deepEqual(admission.counts, { inFlight: 4, limit: 4, refused: 7 });
  });

  test('refused callers get different times to retry, one to four seconds', () => {
    const { admission, offer } = setup();
    offer(4);
    const times = Array.from({ length: 200 }, () => refusalOf(admission).retryAfterMs ?? 0);
    assert.ok(times.every((time) => time >= 1_000 && time <= 4_000));
    assert.ok(new Set(times).size > 50, 'they are spread');
  });

  test('more starts are accepted as long as their wait stays within the limit at the current rate', async () => {
    const { offer, end, clock, admission, waiting } = setup();
    // 100 requests end in a second.
    for (let n = 0; n < 1_000; n += 1) {
      offer(1);
      end(1);
      await clock.pass(10);
    }
    assert.ok(Math.abs(admission.counts.limit - 100) <= 5, `the limit is ${admission.counts.limit}`);
    offer(1_000);
    assert.equal(waiting.length, admission.counts.limit);
    // Ten end in a second: a new request would wait ten times as long, so fewer are accepted.
    for (let n = 0; n < 100; n += 1) {
      end(1);
      offer(1_000);
      await clock.pass(100);
    }
    assert.ok(admission.counts.limit <= 12, `the limit is ${admission.counts.limit}`);
  });

  test('many starts may come at once; while they last, only starts with a short enough wait are accepted', async () => {
    const { offer, end, clock, admission, waiting } = setup(BURST);
    assert.equal(offer(2_000), 600);
    // 100 end in a second, and refused clients try again and again.
    for (let n = 0; n < 2_000; n += 1) {
      end(1);
      offer(50);
      await clock.pass(10);
    }
    assert.ok(waiting.length >= 80 && waiting.length <= 120, `${waiting.length} are under way`);
    end(waiting.length);
    await clock.pass(4_000);
    assert.ok(admission.counts.limit < 600, 'it was refused a moment ago');
    await clock.pass(2_000);
    assert.equal(admission.counts.limit, 600);
  });

  test('starts that are slow by themselves do not queue while there are few of them', async () => {
    const { offer, clock, admission } = setup(BURST);
    offer(16);
    await clock.pass(60_000);
    assert.equal(admission.counts.limit, 600);
  });

  test('the duration of a start while few run is not counted as waiting: slow stores do not shrink admission', async () => {
    const { offer, end, clock, waiting } = setup(BURST);
    // Each takes two seconds, however many are under way; clients try again and again.
    const ends: number[] = [];
    for (let tick = 0; tick < 600; tick += 1) {
      // First a few requests, then more than it accepts.
      ends.push(offer(tick < 100 ? 1 : 200));
      if (tick >= 20) end(ends[tick - 20] ?? 0);
      await clock.pass(100);
    }
    assert.ok(waiting.length > 300, `${waiting.length} are under way`);
  });

  test('a start that ends twice is counted once', () => {
    const { admission } = setup();
    const ended = admission.enter();
    admission.enter();
    ended();
    ended();
    assert.equal(admission.counts.inFlight, 1);
  });

  test('the log says when refusals begin, and once after five seconds without a refusal', async () => {
    const { offer, end, clock, changes } = setup();
    offer(5);
    await clock.pass(500);
    assert.deepEqual(changes, [true]);
    offer(1);
    await clock.pass(4_900);
    assert.deepEqual(changes, [true]);
    end(4);
    await clock.pass(1_000);
    assert.deepEqual(changes, [true, false]);
  });

  test('for any starts and ends: never fewer than always accepted, never over the limit, no refusal while there is room', async () => {
    const step = fc.record({ comes: fc.nat(40), ends: fc.nat(40), passesMs: fc.integer({ min: 1, max: 2_000 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { admission, offer, end, clock, waiting } = setup();
        for (const { comes, ends, passesMs } of steps) {
          const { limit } = admission.counts;
          const room = Math.max(0, limit - waiting.length);
          assert.ok(limit >= LIMITS.starts_in_flight);
          assert.equal(offer(comes), Math.min(comes, room));
          assert.equal(admission.counts.inFlight, waiting.length);
          end(ends);
          await clock.pass(passesMs);
        }
        end(waiting.length);
        assert.equal(admission.counts.inFlight, 0);
      }),
      { numRuns: 50 },
    );
  });
});
