import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { addressOf } from '../../runtime/address.ts';
import { EventFollower, type FollowParts } from '../../runtime/calls/follow.ts';
import { PendingAsks } from '../../runtime/calls/pending-asks.ts';
import type { ActorEvent } from '../../runtime/client.ts';
import { systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Message } from '../../runtime/message.ts';
import { systemRandom } from '../../runtime/random.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { HandClock } from '../support/hand-clock.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

let node: KernelNode;
let isDown = false;
let recalls = 0;
let followers = 0;
let reads = 0;
before(async () => {
  node = await startKernelNode({
    definitions: [counter, job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    store: (inner) => ({
      async commit(commit, readAhead) {
        if (isDown) throw new SvcError('unavailable', 'the store is away');
        return inner.commit(commit, readAhead);
      },
      async recallReply(partition, messageId) {
        recalls += 1;
        return inner.recallReply(partition, messageId);
      },
      async readEvents(...asked) {
        reads += 1;
        return inner.readEvents(...asked);
      },
      onEvents(address, wake) {
        followers += 1;
        const stop = inner.onEvents(address, wake);
        return () => {
          followers -= 1;
          stop();
        };
      },
    }),
  });
});
after(() => node.stop());

const messageOf = (id: string): Message => ({
  ...{ id, to: fresh('counter'), from: null, cause: null, trace: '0'.repeat(32), origin: 'client' },
  ...{ type: 'Get', payload: {} },
});

/** For followers that read for themselves. */
const NO_LOOKS: FollowParts['looks'] = { rest: () => {}, leave: () => {} };

const fresh = (kind: string) => addressOf(kind, 'acme', randomUUID());

test('the same id asked several times at once is answered each time, without waiting for a recall', async () => {
  const to = fresh('counter');
  const messageId = randomUUID();
  const before = recalls;
  const calls = Array.from({ length: 5 }, () => node.runtime.client.ask(to, 'Add', { by: 3 }, { messageId }));
  assert.deepEqual(await Promise.all(calls), [3, 3, 3, 3, 3]);
  assert.equal(recalls, before);
});

test('a shared read gives the very state that turns have, and decodes it once the actor has left memory', async () => {
  const { client } = node.runtime;
  const to = fresh('counter');
  await client.ask(to, 'Add', { by: 3 });
  const read = async (shared: boolean) => (await client.read(to, null, { shared }))?.state;
  const [own, first, second] = [await read(false), await read(true), await read(true)];
  assert.deepEqual(first, own);
  assert.equal(first, second);
  assert.notEqual(first, own);
  assert.ok(Object.isFrozen(first));
  await node.runtime.dropActor(to);
  const decoded = await read(true);
  assert.deepEqual(decoded, own);
  assert.notEqual(decoded, first);
});

test('an ask ends when its caller gives up, and at its deadline', async () => {
  const to = fresh('counter');
  isDown = true;
  try {
    const caller = new AbortController();
    const given = node.runtime.client.ask(to, 'Add', { by: 1 }, { signal: caller.signal });
    caller.abort();
    await assert.rejects(given, { code: 'cancelled' });
    await assert.rejects(node.runtime.client.ask(to, 'Add', { by: 1 }, { timeoutMs: 30 }), {
      code: 'deadline_exceeded',
    });
  } finally {
    isDown = false;
  }
  await waitUntil('both to be counted', async () => (await node.runtime.client.events(to, 0, 10)).length === 2);
});

test('replies that may have been lost are read when the store answers again, not a second after their ask', async () => {
  const [clock, recalled] = [new HandClock(), new Set<string>()];
  let missed: (() => void) | undefined;
  const store: Pick<ActorStore, 'onReply' | 'recallReply'> = {
    onReply(_session, _receive, whenMissed) {
      missed = whenMissed;
      return () => {};
    },
    async recallReply(_partition, messageId) {
      recalled.add(messageId);
      return `answer to ${messageId}`;
    },
  };
  const asks = new PendingAsks(store, clock, systemRandom, 'session');
  const ids = Array.from({ length: 20 }, (_, index) => `message-${index}`);
  const answers = ids.map((id) => asks.add(messageOf(id), 'default:0', 60_000, undefined).answer);
  await clock.pass(300);
  assert.equal(recalled.size, 0);
  missed?.();
  await clock.pass(400);
  assert.deepEqual(
    await Promise.all(answers),
    ids.map((id) => `answer to ${id}`),
  );
});

test('an ask that waits when its client is closed ends at once, and so does a later one', async () => {
  let isHeld = true;
  const other = await startKernelNode({
    definitions: [counter],
    store: (inner) => ({
      async commit(commit, readAhead) {
        if (isHeld) throw new SvcError('unavailable', 'the store is away');
        return inner.commit(commit, readAhead);
      },
    }),
  });
  const { client } = other.runtime;
  const to = fresh('counter');
  const waiting = client.ask(to, 'Add', { by: 1 });
  await waitUntil('the message', async () => (await client.mailbox(to)).depth === 1);
  client.close();
  const unavailable = { code: 'unavailable', message: /^the node stops before it has the answer/ };
  await assert.rejects(waiting, unavailable);
  await assert.rejects(client.ask(to, 'Add', { by: 1 }), unavailable);
  isHeld = false;
  await other.stop();
});

test('a follower ends though the store lost the end that it waits for and the actor ended with fewer events', async () => {
  const to = fresh('job');
  await node.runtime.client.ask(to, 'Run', { input: { value: 1 } });
  await waitUntil('its end', async () => (await node.runtime.client.events(to, 0, 10)).length === 2);
  // What the store said before it went back: an event more than there is now.
  const more = { seq: 3, name: 'part', payload: null, at: 0 };
  let first = true;
  const client: FollowParts['client'] = {
    read: (address) => node.runtime.client.read(address),
    async events(...asked) {
      const known = first ? [more] : await node.runtime.client.events(...asked);
      first = false;
      return known;
    },
  };
  const decode = async (): Promise<ActorEvent> => more;
  const parts = { client, store: node.store, clock: systemClock, looks: NO_LOOKS, decode, final: new Set(['ended']) };
  const signal = AbortSignal.timeout(30_000);
  const seen: (ActorEvent | null)[] = [];
  for await (const event of new EventFollower(parts, to, 2, { signal, heartbeatMs: 50 })) seen.push(event);
  assert.ok(!signal.aborted, 'it ends by itself');
  assert.deepEqual(seen, [more]);
});

test('following an ended actor from its end, or from behind it, ends at once', async () => {
  const to = fresh('job');
  await node.runtime.client.ask(to, 'Run', { input: { value: 1 } });
  const collect = async (from: number): Promise<number[]> => {
    const seen: ActorEvent[] = [];
    const options = { signal: AbortSignal.timeout(30_000), heartbeatMs: 60_000 };
    for await (const event of node.runtime.client.follow(to, from, options)) if (event !== null) seen.push(event);
    assert.equal(options.signal.aborted, false, `following from ${from} ended by itself`);
    return seen.map(({ seq }) => seq);
  };
  assert.deepEqual(await collect(0), [1, 2]);
  assert.deepEqual(await collect(2), []);
  assert.deepEqual(await collect(99), []);
  await waitUntil('the archive', async () => (await node.runtime.client.read(to))?.archived === true);
  assert.deepEqual(await collect(1), [2]);
  assert.deepEqual(await collect(99), []);
  assert.equal(followers, 0);
});

test('a follower that leaves gives its subscription back; it receives nulls while no event comes', async () => {
  const to = fresh('counter');
  const stream = node.runtime.client.follow(to, 0, { signal: AbortSignal.timeout(60_000), heartbeatMs: 20 });
  for await (const event of stream) {
    assert.equal(event, null);
    assert.equal(followers, 1);
    break;
  }
  assert.equal(followers, 0);
});

test('a follower that is aborted during its last read before a pause ends without the pause', async () => {
  const to = fresh('counter');
  const caller = new AbortController();
  let pauses = 0;
  const parts: FollowParts = {
    client: {
      events: async () => [],
      read: async () => {
        caller.abort();
        return null;
      },
    },
    store: { onEvents: () => () => {} },
    clock: {
      ...systemClock,
      after: (delayMs, call) => {
        pauses += 1;
        return systemClock.after(delayMs, call);
      },
    },
    looks: NO_LOOKS,
    decode: () => assert.fail('no event was carried'),
    final: new Set(['ended']),
  };
  const follower = new EventFollower(parts, to, 1, { signal: caller.signal, heartbeatMs: 20_000 });
  assert.equal((await follower.next()).done, true);
  assert.equal(pauses, 0);
});

test('a follower that waits behind an event reads once at each look', async () => {
  let asked = 0;
  let pauses = 0;
  const parts: FollowParts = {
    client: {
      events: async (_address, after) => {
        asked += 1;
        return after === 3 ? [{ seq: 4, name: 'begun', payload: null, at: 0 }] : [];
      },
      read: () => assert.fail('the event behind which it waits says enough'),
    },
    store: { onEvents: () => () => {} },
    clock: {
      ...systemClock,
      after: (_, call) => {
        pauses += 1;
        queueMicrotask(pauses < 5 ? call : () => caller.abort());
        return () => {};
      },
    },
    looks: NO_LOOKS,
    decode: () => assert.fail('no event was carried'),
    final: new Set(['ended']),
  };
  const caller = new AbortController();
  const options = { signal: caller.signal, heartbeatMs: 600_000, mostLookAgainMs: 30_000 };
  const follower = new EventFollower(parts, fresh('counter'), 4, options);
  assert.equal((await follower.next()).done, true);
  assert.equal(asked, 5);
});

test('a follower does not read events that a notification contained, however many come', async () => {
  const to = fresh('counter');
  await node.runtime.client.ask(to, 'Add', { by: 1 });
  const seen: number[] = [];
  let before = 0;
  for await (const event of node.runtime.client.follow(to, 0, {
    signal: AbortSignal.timeout(60_000),
    heartbeatMs: 60_000,
  })) {
    if (event !== null) seen.push(event.seq);
    // The first page is read a second time, behind the subscription.
    if (seen.length === 2) before = reads;
    if (seen.length === 12) break;
    await node.runtime.client.ask(to, 'Add', { by: 1 });
  }
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  assert.equal(reads - before, 0);
});
