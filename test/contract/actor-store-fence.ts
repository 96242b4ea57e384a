import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { at, type MakeStore, type StoreDriver, section } from './store-under-test.ts';

interface Setup {
  readonly partition: Partition;
  readonly elsewhere: Partition;
  readonly self: Address;
  readonly asked: string;
  readonly effect: string;
  readonly lease: Lease<Partition>;
}

/** A partition with every kind of record, and two waiting entries. */
async function setup(driver: StoreDriver): Promise<Setup> {
  const [partition, elsewhere] = await driver.partitions(2);
  assert.ok(partition && elsewhere);
  const self = driver.address();
  const [, asked] = await driver.append(partition, self, 'first', 'second', 'third');
  assert.ok(asked);
  const lease = await driver.lease(partition, 'node-a');
  const effect = randomUUID();
  await driver.mustCommit(lease, 0, 1, {
    records: [{ address: self, record: 'before' }],
    journal: 'row',
    events: [{ address: self, first: 1, data: ['e1'] }],
    timersSet: [{ id: 'tick', afterMs: 3_600_000, delivery: driver.delivery(self) }],
    effectsOpened: [{ id: effect, queue: 'q', address: self, mode: 'repeatable', body: 'b' }],
    handled: [{ address: self, count: 1 }],
  });
  return { partition, elsewhere, self, asked, effect, lease };
}

/** A commit that would change every kind of record. */
function everything(driver: StoreDriver, { partition, elsewhere, self, asked, effect }: Setup) {
  return {
    records: [{ address: self, record: 'after' }],
    journal: 'stale row',
    events: [{ address: self, first: 2, data: ['stale'] }],
    sends: [
      { partition, delivery: driver.delivery(self, 'stale') },
      { partition: elsewhere, delivery: driver.delivery(self, 'stale') },
    ],
    timersSet: [{ id: 'stale', afterMs: 0, delivery: driver.delivery(self) }],
    timersCleared: ['tick'],
    effectsOpened: [{ id: randomUUID(), queue: 'q', address: self, mode: 'once' as const, body: 'stale' }],
    effectsCancelled: [effect],
    replies: [{ session: 's', messageId: asked, body: 'stale' }],
    handled: [{ address: self, count: 1 }],
  };
}

/** Everything that the holder of `lease` can read now. */
async function seen(driver: StoreDriver, { partition, elsewhere, self, asked }: Setup, lease: Lease<Partition>) {
  const there = await driver.lease(elsewhere, 'observer');
  await driver.flush(lease);
  const seenThere = await driver.entries(there);
  await driver.store.release(there);
  return {
    records: await driver.store.load(partition, [self]),
    events: await driver.store.readEvents(partition, self, 0, 100),
    nextTimer: await driver.fireTimers(lease),
    effects: await driver.store.openEffects(partition),
    reply: await driver.store.recallReply(partition, asked),
    depth: await driver.store.depth(partition, self),
    backlog: await driver.store.backlog(partition),
    journal: await driver.store.readJournal(partition, 0, 100),
    mailbox: await driver.entries(lease),
    seenThere,
  };
}

/** Makes the commit of `stale` and checks that nothing changed. */
async function refused(
  driver: StoreDriver,
  set: Setup,
  holder: Lease<Partition>,
  stale: Lease<Partition>,
  after: number,
  upTo: number,
) {
  const before = await seen(driver, set, holder);
  assert.deepEqual(await driver.commit(stale, after, upTo, everything(driver, set), 10), { kind: 'fenced' });
  assert.deepEqual(await seen(driver, set, holder), before);
}

export function fenceContract(make: MakeStore): void {
  section('fencing', make, (promise) => {
    promise('a fenced node (old epoch) cannot commit and writes nothing at all', async (driver) => {
      const set = await setup(driver);
      await driver.store.release(set.lease);
      const holder = await driver.lease(set.partition, 'node-b');
      await refused(driver, set, holder, set.lease, 1, 2);
      assert.equal((await driver.commit(holder, 1, 2, everything(driver, set))).kind, 'committed');
    });

    promise('an equal epoch with another grant cannot commit', async (driver) => {
      const set = await setup(driver);
      await refused(driver, set, set.lease, { ...set.lease, grant: randomUUID() }, 1, 2);
    });

    promise('an epoch of the future cannot commit', async (driver) => {
      const set = await setup(driver);
      await refused(driver, set, set.lease, { ...set.lease, epoch: set.lease.epoch + 1 }, 1, 2);
    });

    promise('a commit at another cursor than the expected one writes nothing', async (driver) => {
      const set = await setup(driver);
      await refused(driver, set, set.lease, set.lease, 0, 1);
      await refused(driver, set, set.lease, set.lease, 2, 3);
    });

    promise('a commit that is repeated is applied once', async (driver) => {
      const set = await setup(driver);
      const change = everything(driver, set);
      assert.equal((await driver.commit(set.lease, 1, 2, change)).kind, 'committed');
      const before = await seen(driver, set, set.lease);
      assert.equal((await driver.commit(set.lease, 1, 2, change)).kind, 'fenced');
      assert.deepEqual(await seen(driver, set, set.lease), before);
    });

    promise('a partition that was never leased takes no commit', async (driver) => {
      const partition = await driver.partition();
      const lease = { log: partition, node: 'node-a', epoch: 1, grant: 'made up' };
      assert.equal((await driver.commit(lease, 0, 0)).kind, 'fenced');
      assert.deepEqual(await driver.store.renew([lease], 1_000), [lease]);
    });

    promise('two connections that commit the same batch apply it once', async (driver) => {
      const set = await setup(driver);
      const other = await driver.another();
      const outcomes = await Promise.all(
        [driver.store, other, driver.store, other].map((store, n) =>
          store.commit(
            {
              lease: set.lease,
              after: 1,
              upTo: 2,
              ...everything(driver, set),
              records: [{ address: set.self, record: `${n}` }],
            },
            0,
          ),
        ),
      );
      assert.deepEqual(outcomes.map((outcome) => outcome.kind).toSorted(), ['committed', 'fenced', 'fenced', 'fenced']);
      const winner = outcomes.findIndex((outcome) => outcome.kind === 'committed');
      assert.deepEqual(await driver.store.load(set.partition, [set.self]), [`${winner}`]);
      assert.equal(at(await driver.store.readEvents(set.partition, set.self, 1, 10), 0).data, 'stale');
    });

    promise('a fenced node trims nothing', async (driver) => {
      const set = await setup(driver);
      await driver.store.trimJournal({ ...set.lease, grant: randomUUID() }, 1);
      assert.equal((await driver.store.readJournal(set.partition, 0, 10)).length, 1);
    });
  });
}
