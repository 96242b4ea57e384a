import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../runtime/clock.ts';
import { TimerWheel } from '../../runtime/dispatch/timer-firing.ts';

/** A clock that the test moves. */
class HandClock implements Clock {
  #time = 1_000_000;
  #calls: { at: number; call: () => void }[] = [];
  now = () => this.#time;
  monotonic = () => this.#time;
  after = (delayMs: number, call: () => void) => {
    const entry = { at: this.#time + delayMs, call };
    this.#calls.push(entry);
    return () => {
      this.#calls = this.#calls.filter((other) => other !== entry);
    };
  };
  move(ms: number): void {
    const until = this.#time + ms;
    for (;;) {
      const next = this.#calls.filter((entry) => entry.at <= until).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#calls = this.#calls.filter((other) => other !== next);
      this.#time = Math.max(this.#time, next.at);
      next.call();
    }
    this.#time = until;
  }
}

test('timers are due by the store clock, whichever way ours is off', () => {
  for (const aheadMs of [30_000, -30_000]) {
    const clock = new HandClock();
    let fired = 0;
    const nowOf = () => clock.now() + aheadMs;
    const wheel = new TimerWheel(clock, nowOf, (due) => {
      fired += due.length;
    });
    wheel.note('default:0', clock.now() + aheadMs + 500);
    clock.move(400);
    assert.equal(fired, 0, 'not before its time');
    clock.move(200);
    assert.equal(fired, 1, 'and not after it');
  }
});

test('each partition is due by the clock of its own store, also when that is set', () => {
  const clock = new HandClock();
  const ahead: Record<string, number> = { 'default:0': 2_000, 'default:1': -2_000 };
  const fired: string[] = [];
  const nowOf = (partition: string) => clock.now() + (ahead[partition] ?? 0);
  const wheel = new TimerWheel(clock, nowOf, (due) => fired.push(...due));
  wheel.note('default:1', nowOf('default:1') + 300);
  wheel.note('default:0', nowOf('default:0') + 100);
  clock.move(150);
  assert.deepEqual(fired, ['default:0']);
  ahead['default:1'] = -2_500;
  wheel.adjust();
  clock.move(600);
  assert.deepEqual(fired, ['default:0']);
  clock.move(100);
  assert.deepEqual(fired, ['default:0', 'default:1']);
});

test('timers that are set while a partition fires are kept after the answer', () => {
  const clock = new HandClock();
  const fired: number[] = [];
  const wheel = new TimerWheel(clock, clock.now, () => fired.push(clock.now()));
  const start = clock.now();
  wheel.note('default:0', start + 10);
  clock.move(20);
  wheel.note('default:0', start + 100);
  wheel.note('default:0', start + 900);
  clock.move(100);
  assert.equal(fired.length, 2);
});

test('a dropped partition does not fire, an earlier timer replaces a later one', () => {
  const clock = new HandClock();
  const fired: string[] = [];
  const wheel = new TimerWheel(clock, clock.now, (due) => fired.push(...due));
  wheel.note('default:0', clock.now() + 50);
  wheel.note('default:1', clock.now() + 500);
  wheel.note('default:1', clock.now() + 20);
  wheel.drop('default:0');
  clock.move(100);
  assert.deepEqual(fired, ['default:1']);
});
