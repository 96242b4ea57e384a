import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import { EventFollower, type FollowParts } from '../../runtime/calls/follow.ts';
import { LOOK_EVERY_MS, SharedLooks } from '../../runtime/calls/shared-looks.ts';
import type { ActorEvent, FollowOptions } from '../../runtime/client.ts';
import { SvcError } from '../../runtime/errors.ts';
import { HandClock, settled } from '../support/hand-clock.ts';

const HEARTBEAT_MS = 15_000;
const actor = (id: number | string): Address => addressOf('thing', 'acme', String(id));

/** A store that sends no notices of events, and followers of it. */
class Silent {
  readonly clock = new HandClock();
  /** Number of the last event of every actor. */
  last = 1;
  isAway = false;
  readonly looks: { readonly address: Address; readonly at: number }[] = [];
  reads = 0;
  readonly got: (number | string | null)[] = [];
  readonly #end = new AbortController();
  readonly #shared = new SharedLooks({
    clock: this.clock,
    numbers: async (address, after, limit) => {
      this.looks.push({ address, at: this.clock.now() });
      return this.#behind(after, limit).map(({ seq }) => seq);
    },
  });
  readonly #listeners = new Set<() => void>();
  readonly #parts: FollowParts = {
    client: {
      events: async (_, after, limit) => {
        this.reads += 1;
        return this.#behind(after, limit);
      },
      read: async () => null,
    },
    store: {
      onEvents: (_, wake) => {
        this.#listeners.add(wake);
        return () => this.#listeners.delete(wake);
      },
    },
    clock: this.clock,
    looks: this.#shared,
    decode: () => assert.fail('no event was carried'),
    final: new Set(['ended']),
  };

  #behind(after: number, limit: number): ActorEvent[] {
    if (this.isAway) throw new SvcError('unavailable', 'the store is away');
    const all = Array.from({ length: this.last }, (_, at) => ({ seq: at + 1, name: 'part', payload: null, at: 0 }));
    return all.slice(after, after + limit);
  }

  /** The subscriptions are in place. */
  confirm(): void {
    for (const wake of this.#listeners) wake();
  }

  /** A follower that has all events by now. */
  async follow(address: Address, patience: Partial<FollowOptions> = {}): Promise<void> {
    const options = { signal: this.#end.signal, heartbeatMs: HEARTBEAT_MS, ...patience };
    const reading = async (): Promise<void> => {
      for await (const event of new EventFollower(this.#parts, address, 0, options)) this.got.push(event?.seq ?? null);
    };
    reading().catch((thrown: unknown) => this.got.push(thrown instanceof SvcError ? thrown.code : String(thrown)));
    await settled();
  }

  async atRest(): Promise<void> {
    await settled();
    this.got.length = 0;
    this.reads = 0;
    this.looks.length = 0;
  }

  async leave(): Promise<void> {
    this.#end.abort();
    await settled();
  }
}

test('however many follow an actor that is silent, its stream is read once in two seconds', async () => {
  const silent = new Silent();
  for (let at = 0; at < 50; at += 1) await silent.follow(actor('a'));
  await silent.atRest();
  await silent.clock.pass(5 * LOOK_EVERY_MS);
  assert.deepEqual([silent.looks.length, silent.reads], [5, 0]);
  await silent.leave();
  await silent.clock.pass(2 * LOOK_EVERY_MS);
  assert.equal(silent.looks.length, 5, 'without a follower there is no look');
});

test('an event whose notice was lost reaches all followers of its actor within two seconds', async () => {
  const silent = new Silent();
  for (let at = 0; at < 3; at += 1) await silent.follow(actor('a'));
  await silent.clock.pass(3 * LOOK_EVERY_MS);
  await silent.atRest();
  silent.last = 2;
  await silent.clock.pass(LOOK_EVERY_MS);
  assert.deepEqual(silent.got, [2, 2, 2]);
});

test('an event between the first read of a follower and its subscription is read once the subscription is in place', async () => {
  for (const before of [0, 1]) {
    const silent = new Silent();
    silent.last = before;
    await silent.follow(actor('a'));
    await silent.atRest();
    silent.last = before + 1;
    silent.confirm();
    await settled();
    assert.deepEqual(silent.got, [before + 1]);
  }
});

test('a follower whose subscription was in place at once reads the events there are once', async () => {
  const silent = new Silent();
  await silent.follow(actor('a'));
  assert.deepEqual([silent.reads, silent.got], [1, [1]]);
});

test('when a shared look fails each follower reads for itself and reports it', async () => {
  const silent = new Silent();
  for (let at = 0; at < 3; at += 1) await silent.follow(actor('a'));
  await silent.atRest();
  silent.isAway = true;
  await silent.clock.pass(LOOK_EVERY_MS);
  assert.deepEqual(silent.got, ['unavailable', 'unavailable', 'unavailable']);
});

test('followers look for themselves when the store has fewer events than they have', async () => {
  const silent = new Silent();
  silent.last = 3;
  for (let at = 0; at < 3; at += 1) await silent.follow(actor('a'));
  await silent.atRest();
  silent.last = 2;
  await silent.clock.pass(LOOK_EVERY_MS);
  assert.equal(silent.reads, 3);
});

test('actors whose followers came at one moment are read at different moments, in each round', async () => {
  const silent = new Silent();
  for (let at = 0; at < 200; at += 1) await silent.follow(actor(at));
  await silent.atRest();
  for (let round = 0; round < 3; round += 1) {
    await silent.clock.pass(LOOK_EVERY_MS);
    const moments = silent.looks.splice(0).map(({ at }) => Math.floor(at / 100));
    assert.equal(moments.length, 200);
    const most = Math.max(...moments.map((one) => moments.filter((other) => other === one).length));
    assert.ok(most <= 40, `${most} of 200 within a twentieth of the time`);
  }
});

test('a heartbeat that came late does not delay the next ones', async () => {
  const silent = new Silent();
  await silent.follow(actor('a'));
  await silent.atRest();
  const late = silent.clock.monotonic;
  // The process is busy when the first heartbeat is due.
  silent.clock.monotonic = () => late() + (late() >= HEARTBEAT_MS ? 900 : 0);
  await silent.clock.pass(HEARTBEAT_MS);
  silent.clock.monotonic = late;
  assert.deepEqual(silent.got, [null]);
  await silent.clock.pass(HEARTBEAT_MS - 1);
  assert.deepEqual(silent.got, [null]);
  await silent.clock.pass(1);
  assert.deepEqual(silent.got, [null, null]);
});

test('one that waits for long looks again at the latest after its longest pause, and once for each pause', async () => {
  const silent = new Silent();
  await silent.follow(actor('a'), { heartbeatMs: 600_000, mostLookAgainMs: 30_000 });
  for (let at = 0; at < 100; at += 1) await silent.clock.pass(1_000);
  await silent.atRest();
  for (let at = 0; at < 31; at += 1) await silent.clock.pass(1_000);
  assert.equal(silent.reads, 1);
  // A wake-up ends the pause and its look.
  silent.confirm();
  await settled();
  assert.equal(silent.reads, 2);
  silent.last = 2;
  for (let at = 0; at < 31; at += 1) await silent.clock.pass(1_000);
  assert.deepEqual([silent.reads, silent.got], [3, [2]]);
  await silent.leave();
});
