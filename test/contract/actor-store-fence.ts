import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Lease } from '../../runtime/actor-store.ts';
import type { Address, Partition } from '../../runtime/address.ts';
import { at, type MakeStore, type Rig, section } from './actor-store-rig.ts';

interface Scene {
  readonly partition: Partition;
  readonly elsewhere: Partition;
  readonly self: Address;
  readonly asked: string;
  readonly effect: string;
  readonly lease: Lease<Partition>;
}

/** A partition with something of everything in it, two entries waiting. */
async function scene(rig: Rig): Promise<Scene> {
  const [partition, elsewhere] = await rig.partitions(2);
  assert.ok(partition && elsewhere);
  const self = rig.address();
  const [, asked] = await rig.append(partition, self, 'first', 'second', 'third');
  assert.ok(asked);
  const lease = await rig.lease(partition, 'node-a');
  const effect = randomUUID();
  await rig.mustCommit(lease, 0, 1, {
    records: [{ address: self, record: 'before' }],
    journal: 'row',
    events: [{ address: self, first: 1, data: ['e1'] }],
    timersSet: [{ id: 'tick', afterMs: 3_600_000, delivery: rig.delivery(self) }],
    effectsOpened: [{ id: effect, queue: 'q', address: self, mode: 'repeatable', body: 'b' }],
    handled: [{ address: self, count: 1 }],
  });
  return { partition, elsewhere, self, asked, effect, lease };
}

/** A commit that would change everything there is. */
function everything(rig: Rig, { partition, elsewhere, self, asked, effect }: Scene) {
  return {
    records: [{ address: self, record: 'after' }],
    journal: 'stale row',
    events: [{ address: self, first: 2, data: ['stale'] }],
    sends: [
      { partition, delivery: rig.delivery(self, 'stale') },
      { partition: elsewhere, delivery: rig.delivery(self, 'stale') },
    ],
    timersSet: [{ id: 'stale', afterMs: 0, delivery: rig.delivery(self) }],
    timersCleared: ['tick'],
    effectsOpened: [{ id: randomUUID(), queue: 'q', address: self, mode: 'once' as const, body: 'stale' }],
    effectsCancelled: [effect],
    replies: [{ session: 's', messageId: asked, body: 'stale' }],
    handled: [{ address: self, count: 1 }],
  };
}

/** All that can be seen of the scene, seen by whoever holds `lease` now. */
async function seen(rig: Rig, { partition, elsewhere, self, asked }: Scene, lease: Lease<Partition>) {
  const there = await rig.lease(elsewhere, 'observer');
  await rig.flush(lease);
  const seenThere = await rig.entries(there);
  await rig.store.release(there);
  return {
    records: await rig.store.load(partition, [self]),
    events: await rig.store.readEvents(partition, self, 0, 100),
    nextTimer: await rig.fireTimers(lease),
    effects: await rig.store.openEffects(partition),
    reply: await rig.store.recallReply(partition, asked),
    depth: await rig.store.depth(partition, self),
    backlog: await rig.store.backlog(partition),
    journal: await rig.store.readJournal(partition, 0, 100),
    mailbox: await rig.entries(lease),
    seenThere,
  };
}

/** Commits as `stale` says and checks that nothing changed. */
async function refused(
  rig: Rig,
  set: Scene,
  holder: Lease<Partition>,
  stale: Lease<Partition>,
  after: number,
  upTo: number,
) {
  const before = await seen(rig, set, holder);
  assert.deepEqual(await rig.commit(stale, after, upTo, everything(rig, set), 10), { kind: 'fenced' });
  assert.deepEqual(await seen(rig, set, holder), before);
}

export function fenceContract(make: MakeStore): void {
  section('fencing', make, (promise) => {
    promise('a fenced node (old epoch) cannot commit and writes nothing at all', async (rig) => {
      const set = await scene(rig);
      await rig.store.release(set.lease);
      const holder = await rig.lease(set.partition, 'node-b');
      await refused(rig, set, holder, set.lease, 1, 2);
      assert.equal((await rig.commit(holder, 1, 2, everything(rig, set))).kind, 'committed');
    });

    promise('an equal epoch with another grant cannot commit', async (rig) => {
      const set = await scene(rig);
      await refused(rig, set, set.lease, { ...set.lease, grant: randomUUID() }, 1, 2);
    });

    promise('an epoch of the future cannot commit', async (rig) => {
      const set = await scene(rig);
      await refused(rig, set, set.lease, { ...set.lease, epoch: set.lease.epoch + 1 }, 1, 2);
    });

    promise('a commit at another cursor than the expected one writes nothing', async (rig) => {
      const set = await scene(rig);
      await refused(rig, set, set.lease, set.lease, 0, 1);
      await refused(rig, set, set.lease, set.lease, 2, 3);
    });

    promise('a commit that is repeated is applied once', async (rig) => {
      const set = await scene(rig);
      const change = everything(rig, set);
      assert.equal((await rig.commit(set.lease, 1, 2, change)).kind, 'committed');
      const before = await seen(rig, set, set.lease);
      assert.equal((await rig.commit(set.lease, 1, 2, change)).kind, 'fenced');
      assert.deepEqual(await seen(rig, set, set.lease), before);
    });

    promise('a partition nobody ever leased takes no commit', async (rig) => {
      const partition = await rig.partition();
      const lease = { log: partition, node: 'node-a', epoch: 1, grant: 'made up' };
      assert.equal((await rig.commit(lease, 0, 0)).kind, 'fenced');
      assert.deepEqual(await rig.store.renew([lease], 1_000), [lease]);
    });

    promise('two connections that commit the same batch apply it once', async (rig) => {
      const set = await scene(rig);
      const other = await rig.another();
      const outcomes = await Promise.all(
        [rig.store, other, rig.store, other].map((store, n) =>
          store.commit(
            {
              lease: set.lease,
              after: 1,
              upTo: 2,
              ...everything(rig, set),
              records: [{ address: set.self, record: `${n}` }],
            },
            0,
          ),
        ),
      );
      assert.deepEqual(outcomes.map((outcome) => outcome.kind).toSorted(), ['committed', 'fenced', 'fenced', 'fenced']);
      const winner = outcomes.findIndex((outcome) => outcome.kind === 'committed');
      assert.deepEqual(await rig.store.load(set.partition, [set.self]), [`${winner}`]);
      assert.equal(at(await rig.store.readEvents(set.partition, set.self, 1, 10), 0).data, 'stale');
    });

    promise('a fenced node trims nothing', async (rig) => {
      const set = await scene(rig);
      await rig.store.trimJournal({ ...set.lease, grant: randomUUID() }, 1);
      assert.equal((await rig.store.readJournal(set.partition, 0, 10)).length, 1);
    });
  });
}
