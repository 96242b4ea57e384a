import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import { EventFollower, type FollowParts } from '../../runtime/calls/follow.ts';
import type { ActorEvent } from '../../runtime/client.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Subscription } from '../../runtime/leases.ts';
import { HandClock } from '../support/hand-clock.ts';

const to = addressOf('run', 'acme', 'a');
const eventOf = (seq: number, name = 'step'): ActorEvent => ({ seq, name, payload: null, at: 0 });

/** A follower of an actor with these events. `placed` calls back as a store does whose subscription is in place. */
function follower(events: readonly ActorEvent[], { isPending = true, after = 0, unlessRunning = async () => {} } = {}) {
  const clock = new HandClock();
  const reads: number[] = [];
  let placed = (): void => {};
  const parts: FollowParts = {
    client: {
      events: async (_address, behind) => {
        reads.push(behind);
        return events.filter(({ seq }) => seq > behind);
      },
      read: async () => null,
    },
    store: {
      onEvents: (_address, wake): Subscription => {
        placed = () => wake();
        return Object.assign(() => {}, { isPending });
      },
    },
    clock,
    looks: { rest: () => {}, leave: () => {} },
    decode: () => assert.fail('no event was carried'),
    final: new Set(['ended']),
  };
  const signal = new AbortController().signal;
  const stream = new EventFollower(parts, to, after, { signal, heartbeatMs: 20_000, unlessRunning });
  return { stream, clock, reads, placed: () => placed() };
}

test('the first read waits for the subscription, and is the only one', async () => {
  const { stream, reads, placed } = follower([eventOf(1), eventOf(2, 'ended')]);
  const first = stream.next();
  await new Promise(setImmediate);
  assert.deepEqual(reads, []);
  placed();
  assert.equal((await first).value?.seq, 1);
  assert.equal((await stream.next()).value?.name, 'ended');
  assert.equal((await stream.next()).done, true);
  assert.deepEqual(reads, [0]);
});

test('a subscription that is not there after a quarter of a second is not waited for, and another read follows it', async () => {
  const { stream, clock, reads, placed } = follower([eventOf(1)]);
  const first = stream.next();
  await clock.pass(249);
  assert.deepEqual(reads, []);
  await clock.pass(2);
  assert.equal((await first).value?.seq, 1);
  const second = stream.next();
  await new Promise(setImmediate);
  placed();
  await new Promise(setImmediate);
  assert.deepEqual(reads, [0, 1]);
  await stream.return();
  assert.equal((await second).done, true);
});

test('a subscription that is there already is not waited for', async () => {
  const { stream, reads } = follower([eventOf(1)], { isPending: false });
  assert.equal((await stream.next()).value?.seq, 1);
  assert.deepEqual(reads, [0]);
  await stream.return();
});

test('a follower checks its actor only when the first read does not show that it runs', async () => {
  const checks = async (events: readonly ActorEvent[], after = 0): Promise<number> => {
    let count = 0;
    const unlessRunning = async (): Promise<void> => {
      count += 1;
      throw new SvcError('not_found');
    };
    const { stream } = follower(events, { isPending: false, after, unlessRunning });
    const first = await stream.next().catch((thrown: unknown) => thrown);
    if (count > 0) {
      assert.ok(first instanceof SvcError);
      assert.equal((await stream.next()).done, true);
    } else await stream.return();
    return count;
  };
  assert.equal(await checks([eventOf(1), eventOf(2)]), 0);
  assert.equal(await checks([]), 1);
  assert.equal(await checks([eventOf(1), eventOf(2)], 2), 1);
  assert.equal(await checks([eventOf(1), eventOf(2, 'ended')]), 1);
});
