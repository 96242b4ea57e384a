import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ActorStore, Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Delivery, MailboxEntry } from '../../runtime/message.ts';
import { FaultyStore } from '../support/faulty-store.ts';
import { sample } from '../support/size.ts';
import { at, commitOf, type MakeStore, type StoreDriver, section } from './store-under-test.ts';

const CLIENTS = 4;
/** Number of messages of each client. */
const MESSAGES = sample({ normal: 15, long: 40 });
const RUNNER = 'node-f/1';
const NODE = 'node-faulty';

/** Repeats a call until it does not end as `unavailable`, as callers of the port do. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < 10_000; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== 'unavailable') throw error;
    }
  }
  assert.fail('a call was unavailable 10,000 times in a row');
}

interface Place {
  readonly partition: Partition;
  readonly elsewhere: Partition;
  readonly self: Address;
  readonly collector: Address;
}

async function acquire(store: ActorStore, partition: Partition): Promise<{ lease: Lease<Partition>; cursor: number }> {
  const outcome = await insist(() => store.acquire(partition, NODE, randomUUID(), 60_000));
  if (outcome.kind !== 'granted') assert.fail('the only node is refused its lease');
  return { lease: outcome.lease, cursor: outcome.cursor };
}

/**
 * A batch of turns: the record and the events list the handled messages, and each message is forwarded and answered.
 */
function batch(
  lease: Lease<Partition>,
  cursor: number,
  entries: readonly MailboxEntry[],
  handled: string[],
  place: Place,
) {
  const messages = entries.map((entry) => entry.body);
  return commitOf(lease, cursor, cursor + entries.length, {
    records: [{ address: place.self, record: JSON.stringify([...handled, ...messages]) }],
    journal: JSON.stringify(messages),
    events: [{ address: place.self, first: handled.length + 1, data: messages }],
    sends: messages.map((body) => ({
      partition: place.elsewhere,
      delivery: { id: randomUUID(), to: place.collector, body },
    })),
    replies: messages.map((messageId) => ({ session: 'clients', messageId, body: `done ${messageId}` })),
    handled: [{ address: place.self, count: entries.length }],
  });
}

/**
 * Serves the partition as a node does: after an unknown outcome or a fence it drops its memory and starts from the
 * store.
 */
async function serve(store: ActorStore, place: Place, finished: () => boolean): Promise<void> {
  while (!finished()) {
    let { lease, cursor } = await acquire(store, place.partition);
    const [record] = await insist(() => store.load(place.partition, [place.self]));
    let handled: string[] = JSON.parse(record ?? '[]');
    while (!finished()) {
      const entries = at(await insist(() => store.poll([{ lease, after: cursor }], 16)), 0);
      if (entries === null) break;
      if (entries.length > 0) {
        try {
          const outcome = await store.commit(batch(lease, cursor, entries, handled, place), 0);
          if (outcome.kind === 'fenced') break;
        } catch (error) {
          if (!(error instanceof SvcError) || error.code !== 'unavailable') throw error;
          break;
        }
        handled = [...handled, ...entries.map((entry) => entry.body)];
        cursor += entries.length;
      }
      await store.flushOutbox(lease).catch(() => true);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Sends messages one after the other, each until it is known to be appended and answered. */
async function send(store: ActorStore, place: Place, sent: string[]): Promise<void> {
  for (let n = 0; n < MESSAGES; n++) {
    const id = randomUUID();
    const delivery: Delivery = { id, to: place.self, body: id };
    sent.push(id);
    await insist(() => store.append(place.partition, [delivery], 10_000));
    let reply: string | null = null;
    while (reply === null) {
      reply = await insist(() => store.recallReply(place.partition, id));
      if (reply === null) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(reply, `done ${id}`);
  }
}

async function clientsAndNode(driver: StoreDriver, store: FaultyStore): Promise<void> {
  const [partition, elsewhere] = await driver.partitions(2);
  assert.ok(partition && elsewhere);
  const place: Place = { partition, elsewhere, self: driver.address(), collector: driver.address() };
  const sent: string[] = [];
  let finished = false;
  const node = serve(store, place, () => finished);
  const clients = Promise.all(Array.from({ length: CLIENTS }, () => send(store, place, sent))).finally(() => {
    finished = true;
  });
  await Promise.all([node, clients]);
  store.heal();

  const lease = await driver.lease(partition, NODE);
  await driver.flush(lease);
  const handled: string[] = JSON.parse(at(await driver.store.load(partition, [place.self]), 0) ?? '[]');
  assert.deepEqual(handled.toSorted(), sent.toSorted(), 'every message is handled exactly once');
  const events = await driver.store.readEvents(partition, place.self, 0, 10_000);
  assert.deepEqual(
    events.map((event) => event.data),
    handled,
  );
  const passedOn = await driver.bodies(await driver.lease(elsewhere, NODE));
  assert.deepEqual(passedOn, handled, 'every message is passed on exactly once, in order');
  const journal = await driver.store.readJournal(partition, 0, 10_000);
  assert.deepEqual(
    journal.flatMap((row) => row.entries.map((entry) => entry.body)),
    handled,
  );
  assert.equal(await driver.store.depth(partition, place.self), 0);
}

export function faultContract(make: MakeStore): void {
  section('faults between caller and store', make, (promise) => {
    const each = { executedThenTimedOut: 0.1, notExecuted: 0.1, disconnected: 0.02, leaseLost: 0.1 };
    const kinds = ['executedThenTimedOut', 'notExecuted', 'disconnected', 'leaseLost'] as const;
    for (const kind of kinds) {
      promise(`with ${kind}, every message is handled exactly once and sent on once`, async (driver) => {
        const store = new FaultyStore(driver.store, { seed: 7, otherwise: { [kind]: each[kind] } });
        await clientsAndNode(driver, store);
        assert.ok(store.struck[kind] > 0, `${kind} occurred`);
      });
    }

    promise('with all faults together, every message is handled exactly once and sent on once', async (driver) => {
      for (const seed of [1, 2]) await clientsAndNode(driver, new FaultyStore(driver.store, { seed, otherwise: each }));
    });

    promise('an effect whose calls are repeated runs to one result', async (driver) => {
      const partition = await driver.partition();
      const lease = await driver.lease(partition, NODE);
      const to = driver.address();
      const ids = Array.from({ length: 10 }, () => randomUUID());
      await driver.mustCommit(lease, 0, 0, {
        effectsOpened: ids.map((id, n) => ({
          id,
          queue: 'q',
          address: to,
          mode: n % 2 === 0 ? 'once' : 'repeatable',
          body: id,
        })),
      });
      const store = new FaultyStore(driver.store, { seed: 11, otherwise: each });
      for (const id of ids) {
        // A runner repeats a claim whose answer was lost, with the same id.
        const claim = randomUUID();
        const got = await insist(() => store.claimEffect(partition, id, RUNNER, 60_000, undefined, claim));
        assert.deepEqual(got, { kind: 'claimed', attempt: 1, body: id });
        const delivery = driver.delivery(to, id);
        await insist(() => store.settleEffect(partition, id, 1, delivery));
      }
      assert.deepEqual(await driver.bodies(lease), ids);
    });
  });
}
