import assert from 'node:assert/strict';
import { type Mock, mock, test } from 'node:test';
import { longTimer, systemClock } from '../../runtime/clock.ts';

const DAY_MS = 86_400_000;

for (const [name, after] of [
  ['the clock', systemClock.after],
  ['a timer', longTimer],
] as const)
  test(`${name} calls after 40 days, not before, once, and not when it was cancelled`, () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const calls: Mock<() => void>[] = [];
      const cancels = [40, 0.5, 24.9, 60, Number.POSITIVE_INFINITY, 40].map((days) => {
        const call = mock.fn();
        calls.push(call);
        return after(days * DAY_MS, call);
      });
      const called = () => calls.map((call) => call.mock.callCount());
      // A timer that is armed within a tick counts from the end of that tick.
      const pass = (days: number) => {
        for (let hours = 0; hours < days * 24; hours += 1) mock.timers.tick(DAY_MS / 24);
      };
      pass(39.9);
      assert.deepEqual(called(), [0, 1, 1, 0, 0, 0]);
      cancels[5]?.();
      pass(0.5);
      assert.deepEqual(called(), [1, 1, 1, 0, 0, 0]);
      pass(20);
      assert.deepEqual(called(), [1, 1, 1, 1, 0, 0]);
      for (const cancel of cancels) cancel();
    } finally {
      mock.timers.reset();
    }
  });
