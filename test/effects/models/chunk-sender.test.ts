import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ChunkSender } from '../../../effects/models/chunk-sender.ts';
import type { Clock } from '../../../runtime/clock.ts';

/** A clock that the test advances; timers fire in order. */
class ManualClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly call: () => void }[] = [];
  now = (): number => this.#now;
  monotonic = (): number => this.#now;
  after(delayMs: number, call: () => void): () => void {
    const timer = { at: this.#now + delayMs, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }
  pass(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter((timer) => timer.at <= this.#now);
    this.#timers = this.#timers.filter((timer) => timer.at > this.#now);
    for (const timer of due) timer.call();
  }
}

const Text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.constant('🎉'),
  fc.constant('\ud83c'),
  fc.constant('\udf89'),
);
const step = fc.record({
  text: Text,
  times: fc.constantFrom(1, 1, 1, 300, 5_000),
  passMs: fc.constantFrom(0, 1, 20, 60),
});

describe('ChunkSender', () => {
  test('for any pushes the joined chunks are the text, in order, none too large, no surrogate pair split', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, slow) => {
        const clock = new ManualClock();
        const chunks: string[] = [];
        let under = 0;
        const sender = new ChunkSender(async (chunk) => {
          under += 1;
          assert.equal(under, 1, 'two chunks at the same time');
          if (slow) await new Promise((resolve) => setImmediate(resolve));
          chunks.push(chunk);
          under -= 1;
          return true;
        }, clock);
        let text = '';
        for (const { text: piece, times, passMs } of steps) {
          const pushed = piece.repeat(times);
          text += pushed;
          await sender.push(pushed);
          clock.pass(passMs);
        }
        await sender.finish();
        assert.equal(chunks.join(''), text);
        // Text that survives UTF-8 as a whole must survive it in pieces.
        assert.equal(chunks.map((chunk) => Buffer.from(chunk).toString()).join(''), Buffer.from(text).toString());
        for (const chunk of chunks) assert.ok(chunk.length > 0 && chunk.length <= 16_384);
      }),
      { numRuns: 150 },
    );
  });

  test('the first text goes out at once, later text in one chunk per 50 ms', async () => {
    const clock = new ManualClock();
    const chunks: string[] = [];
    const sender = new ChunkSender(async (chunk) => chunks.push(chunk) > 0, clock);
    const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await sender.push('a');
    await settle();
    assert.deepEqual(chunks, ['a']);
    for (const text of ['b', 'c', 'd']) {
      await sender.push(text);
      clock.pass(10);
      await settle();
    }
    assert.deepEqual(chunks, ['a']);
    clock.pass(20);
    await settle();
    assert.deepEqual(chunks, ['a', 'bcd']);
  });

  test('a slow receiver slows the model down', async () => {
    let open = (): void => {};
    const sender = new ChunkSender(
      () =>
        new Promise((resolve) => {
          open = () => resolve(true);
        }),
      new ManualClock(),
    );
    await sender.push('x');
    let waited = true;
    const pushing = sender.push('y'.repeat(100_000)).then(() => {
      waited = false;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(waited, true);
    for (let n = 0; n < 20 && waited; n += 1) {
      open();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await pushing;
  });

  test('a failed delivery is thrown, and nothing is sent after it', async () => {
    let calls = 0;
    const sender = new ChunkSender(async () => {
      calls += 1;
      throw new Error('store is down');
    }, new ManualClock());
    await sender.push('a');
    await assert.rejects(sender.finish(), /store is down/);
    await assert.rejects(sender.push('b'), /store is down/);
    assert.equal(calls, 1);
  });
});
