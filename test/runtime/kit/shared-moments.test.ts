import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedMoments } from '../../../runtime/kit/shared-moments.ts';

test('what is due within a tenth of a second has one timer, and is called at its end', () => {
  let now = 1_234;
  const timers: { readonly delayMs: number; readonly call: () => void }[] = [];
  const after = (delayMs: number, call: () => void) => {
    timers.push({ delayMs, call });
    return () => {};
  };
  const clock = { monotonic: () => now, after };
  const moments = SharedMoments.of(clock);
  assert.equal(SharedMoments.of(clock), moments);
  const called: string[] = [];
  const named = (name: string) => ({ onTime: () => void called.push(name) });
  const first = named('first');
  const second = named('second');
  const third = named('third');
  const again = { onTime: () => void moments.add(1_300, named('later')) };
  const moment = moments.add(1_250.5, first);
  assert.deepEqual(
    [moment, moments.add(1_300, second), moments.add(1_201, third), moments.add(1_299, again)],
    [...[1_300, 1_300, 1_300, 1_300]],
  );
  moments.add(1_300.5, named('in the next'));
  moments.cancel(moment, second);
  assert.deepEqual(
    timers.map(({ delayMs }) => delayMs),
    [66, 166],
  );
  now = 1_300;
  timers[0]?.call();
  assert.deepEqual(called, ['first', 'third']);
  timers[2]?.call();
  assert.deepEqual([timers[2]?.delayMs, called.at(-1)], [0, 'later']);
  moments.cancel(moment, first);
});
