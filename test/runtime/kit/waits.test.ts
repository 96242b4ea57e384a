import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { sleep } from '../../../runtime/kit/waits.ts';

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
