import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { repeat, sleep } from '../../../runtime/kit/waits.ts';

/** Time passes when the test says so. */
function handClock() {
  const due = new Set<() => void>();
  return {
    due,
    after: (_delayMs: number, call: () => void) => {
      due.add(call);
      return () => void due.delete(call);
    },
  };
}

describe('a pause', () => {
  test('ends after its time, and leaves no listener at the signal', async () => {
    const clock = handClock();
    const { signal } = new AbortController();
    const paused = sleep(clock, 1_000, signal);
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    for (const call of clock.due) call();
    await paused;
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    assert.equal(clock.due.size, 0);
  });

  test('ends at once when the signal is aborted, meanwhile or before, and leaves no timer', async () => {
    const clock = handClock();
    const stop = new AbortController();
    const paused = sleep(clock, 1_000, stop.signal);
    stop.abort();
    await paused;
    assert.equal(clock.due.size, 0);
    await sleep(clock, 1_000, stop.signal);
    assert.equal(clock.due.size, 0);
  });
});

describe('repeated work', () => {
  test('pauses before each run, and has ended when its last run has', async () => {
    const clock = handClock();
    const wake = (): void => {
      for (const call of [...clock.due]) {
        clock.due.delete(call);
        call();
      }
    };
    const runs: PromiseWithResolvers<void>[] = [];
    const end = repeat(clock, 1_000, () => {
      const run = Promise.withResolvers<void>();
      runs.push(run);
      return run.promise;
    });
    assert.equal(runs.length, 0);
    wake();
    assert.deepEqual([runs.length, clock.due.size], [1, 0], 'no pause begins while it runs');
    runs[0]?.resolve();
    await new Promise(setImmediate);
    assert.equal(clock.due.size, 1);
    wake();
    let hasEnded = false;
    const ended = end().then(() => {
      hasEnded = true;
    });
    await new Promise(setImmediate);
    assert.equal(hasEnded, false);
    runs[1]?.resolve();
    await ended;
    assert.deepEqual([runs.length, clock.due.size], [2, 0], 'nothing is left to run');
  });
});
