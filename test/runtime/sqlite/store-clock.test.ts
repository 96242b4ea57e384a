import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import { SqliteActorStore, StoreClock } from '../../../runtime/sqlite/actor-store.ts';

const HOUR = 3_600_000;
const YEAR = 365 * 24 * HOUR;
const PARTITION: Partition = 'default:0';

/** Time passes on both, and someone sets the wall clock. */
class Hands implements Clock {
  wall = 1_800_000_000_000;
  passed = 5_000;
  now = () => this.wall;
  monotonic = () => this.passed;
  after = systemClock.after;
  pass(ms: number): void {
    this.wall += ms;
    this.passed += ms;
  }
}

describe('the clock of the embedded store', () => {
  it('the embedded store’s clock follows elapsed time within a tenth, whatever the wall clock is set to', () => {
    const step = fc.record({
      pass: fc.integer({ min: 0, max: 10 * HOUR }),
      set: fc.integer({ min: -YEAR, max: YEAR }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const hands = new Hands();
        const clock = new StoreClock(hands, 0);
        for (const { pass, set } of steps) {
          const before = clock.now();
          hands.wall += set;
          assert.ok(clock.now() >= before);
          const from = clock.now();
          hands.pass(pass);
          const passed = clock.now() - from;
          assert.ok(passed >= pass * 0.9 - 1 && passed <= pass * 1.1 + 1, `${passed} ms of ${pass}`);
        }
      }),
    );
  });

  it('follows the wall clock while it is not changed, and returns to it', () => {
    const hands = new Hands();
    const clock = new StoreClock(hands, 0);
    hands.pass(YEAR);
    assert.equal(clock.now(), hands.wall);
    hands.wall += 60_000;
    for (let n = 0; n < 20; n += 1) {
      hands.pass(60_000);
      clock.now();
    }
    assert.equal(clock.now(), hands.wall);
    hands.wall += HOUR;
    clock.catchUp();
    assert.equal(clock.now(), hands.wall);
    hands.wall -= HOUR;
    clock.catchUp();
    assert.equal(clock.now(), hands.wall + HOUR, 'never back');
  });

  it('the embedded store’s clock never goes back over restarts, and timers fire after the delay that was asked for', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-store-clock-'));
    const hands = new Hands();
    let store = new SqliteActorStore({ directory, clock: hands });
    await store.open();
    const taken = await store.acquire(PARTITION, 'ada', 'grant', HOUR);
    assert.ok(taken.kind === 'granted');
    const { lease } = taken;
    const delivery = { id: 'timer', to: addressOf('counter', 'acme', 'a'), body: 'due' };
    await store.commit(
      {
        ...{ lease, after: 0, upTo: 0, records: [], journal: null, events: [], sends: [] },
        ...{ timersSet: [{ id: 'timer', afterMs: HOUR, delivery }], timersCleared: [] },
        ...{ effectsOpened: [], effectsCancelled: [], replies: [], handled: [] },
      },
      0,
    );
    const isDue = async (): Promise<boolean> => {
      await store.fireTimers([lease]);
      return (await store.backlog(PARTITION)).tail > 0;
    };
    const began = await store.now();
    for (const set of [HOUR, YEAR, -2 * HOUR]) {
      hands.wall += set;
      assert.equal(await isDue(), false, `set by ${set} ms`);
      assert.equal(await store.now(), began);
    }
    hands.wall = began - HOUR;
    await store.close();
    store = new SqliteActorStore({ directory, clock: hands });
    await store.open();
    assert.equal(await store.now(), began);
    assert.equal(await isDue(), false);
    hands.pass(HOUR * 0.8);
    assert.equal(await isDue(), false);
    hands.pass(HOUR * 0.4);
    assert.equal(await isDue(), true);
    await store.close();
    await rm(directory, { recursive: true });
  });
});
