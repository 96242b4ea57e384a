import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { at, type MakeStore, section } from './actor-store-rig.ts';

export function commitContract(make: MakeStore): void {
  section('the one commit', make, (promise) => {
    promise('a commit applies everything it holds, and it is there after a restart', async (rig) => {
      const [partition, elsewhere] = await rig.partitions(2);
      assert.ok(partition && elsewhere);
      const [self, peer, remote] = [rig.address(), rig.address(), rig.address()];
      const [asked] = await rig.append(partition, self, 'ask');
      assert.ok(asked);
      const lease = await rig.lease(partition);
      const effect = randomUUID();
      const outcome = await rig.mustCommit(lease, 0, 1, {
        records: [
          { address: self, record: '{"n":1}' },
          { address: peer, record: '{"n":2}' },
        ],
        journal: 'turns',
        events: [{ address: self, first: 1, data: ['e1', 'e2'] }],
        sends: [
          { partition, delivery: rig.delivery(peer, 'to peer') },
          { partition: elsewhere, delivery: rig.delivery(remote, 'to remote') },
        ],
        timersSet: [{ id: 'tick', afterMs: 50_000, delivery: rig.delivery(self, 'tick') }],
        effectsOpened: [{ id: effect, queue: 'default', address: self, mode: 'once', body: 'do it' }],
        replies: [{ session: 's', messageId: asked, body: 'answer' }],
        handled: [{ address: self, count: 1 }],
      });
      assert.ok(Math.abs(outcome.at - (await rig.store.now())) < 60_000, 'the commit names its store time');
      await rig.flush(lease);
      await rig.reopen();

      assert.deepEqual(await rig.store.load(partition, [self, rig.address(), peer]), ['{"n":1}', null, '{"n":2}']);
      assert.deepEqual(await rig.store.readEvents(partition, self, 0, 10), [
        { seq: 1, data: 'e1' },
        { seq: 2, data: 'e2' },
      ]);
      const regained = await rig.lease(partition);
      assert.deepEqual(await rig.bodies(regained, 1), ['to peer']);
      assert.deepEqual(await rig.bodies(await rig.lease(elsewhere)), ['to remote']);
      assert.equal(await rig.fireTimers(regained), outcome.at + 50_000);
      const [row, ...rest] = await rig.store.openEffects(partition);
      assert.deepEqual(rest, []);
      assert.ok(row);
      assert.deepEqual(
        { id: row.id, queue: row.queue, address: row.address, mode: row.mode, status: row.status },
        { id: effect, queue: 'default', address: self, mode: 'once', status: 'open' },
      );
      assert.equal(await rig.store.recallReply(partition, asked), 'answer');
      assert.equal(await rig.store.depth(partition, self), 0);
      assert.equal(await rig.cursor(partition), 1);
      const [journal] = await rig.store.readJournal(partition, 0, 10);
      assert.equal(journal?.row, 'turns');
    });

    promise('records are replaced, and deleted by null', async (rig) => {
      const partition = await rig.partition();
      const [one, two] = [rig.address(), rig.address()];
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 0, {
        records: [
          { address: one, record: 'old' },
          { address: two, record: 'stays' },
        ],
      });
      await rig.mustCommit(lease, 0, 0, { records: [{ address: one, record: 'new' }] });
      assert.deepEqual(await rig.store.load(partition, [one, two]), ['new', 'stays']);
      await rig.mustCommit(lease, 0, 0, { records: [{ address: one, record: null }] });
      await rig.mustCommit(lease, 0, 0, { records: [{ address: rig.address(), record: null }] });
      assert.deepEqual(await rig.store.load(partition, [one, two]), [null, 'stays']);
      assert.deepEqual(await rig.store.load(partition, []), []);
    });

    promise('an actor of the same address in another partition is another actor', async (rig) => {
      const [one, two] = await rig.partitions(2);
      assert.ok(one && two);
      const address = rig.address();
      const [first, second] = [await rig.lease(one), await rig.lease(two)];
      await rig.mustCommit(first, 0, 0, {
        records: [{ address, record: 'one' }],
        events: [{ address, first: 1, data: ['of one'] }],
      });
      await rig.mustCommit(second, 0, 0, { records: [{ address, record: 'two' }] });
      assert.deepEqual(await rig.store.load(one, [address]), ['one']);
      assert.deepEqual(await rig.store.load(two, [address]), ['two']);
      assert.deepEqual(await rig.store.readEvents(two, address, 0, 10), []);
    });

    promise('a commit reads ahead: the entries behind it come with its answer, up to the number asked', async (rig) => {
      const partition = await rig.partition();
      await rig.append(partition, rig.address(), 'a', 'b', 'c', 'd');
      const lease = await rig.lease(partition);
      const some = await rig.mustCommit(lease, 0, 1, {}, 2);
      assert.deepEqual(
        some.next.map((entry) => [entry.seq, entry.body]),
        [
          [2, 'b'],
          [3, 'c'],
        ],
      );
      assert.deepEqual((await rig.mustCommit(lease, 1, 3, {}, 0)).next, []);
      const own = await rig.mustCommit(
        lease,
        3,
        4,
        { sends: [{ partition, delivery: rig.delivery(rig.address(), 'own') }] },
        10,
      );
      assert.deepEqual(
        own.next.map((entry) => [entry.seq, entry.body]),
        [[5, 'own']],
      );
    });

    promise('commits in flight together over many partitions all apply', async (rig) => {
      const partitions = await rig.partitions(16);
      const address = rig.address();
      const leases = await Promise.all(partitions.map((partition) => rig.lease(partition)));
      for (const round of [1, 2, 3]) {
        await Promise.all(
          leases.map((lease, n) =>
            rig.mustCommit(lease, 0, 0, {
              records: [{ address, record: `${n} ${round}` }],
              events: [{ address, first: round, data: [`${n} ${round}`] }],
            }),
          ),
        );
      }
      for (const [n, partition] of partitions.entries()) {
        assert.deepEqual(await rig.store.load(partition, [address]), [`${n} 3`]);
        assert.equal((await rig.store.readEvents(partition, address, 0, 10)).length, 3);
      }
    });

    promise('large and odd contents come back as they were', async (rig) => {
      const partition = await rig.partition();
      const address = rig.address();
      const lease = await rig.lease(partition);
      const large = 'ü🦀'.repeat(250_000);
      const data = Array.from({ length: 1_000 }, (_, n) => `event ${n} \u0000 "漢"`);
      await rig.append(partition, address, 'x');
      await rig.mustCommit(lease, 0, 1, {
        records: [{ address, record: large }],
        journal: large,
        events: [{ address, first: 1, data }],
      });
      assert.deepEqual(await rig.store.load(partition, [address]), [large]);
      assert.equal(at(await rig.store.readJournal(partition, 0, 10), 0).row, large);
      const events = await rig.store.readEvents(partition, address, 0, 2_000);
      assert.deepEqual(
        events.map((event) => event.data),
        data,
      );
    });

    promise('client messages only count in the depth, and handled ones leave it', async (rig) => {
      const partition = await rig.partition();
      const address = rig.address();
      await rig.append(partition, address, 'one', 'two', 'three');
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 2, {
        sends: [{ partition, delivery: rig.delivery(address, 'from an actor') }],
        handled: [{ address, count: 2 }],
      });
      assert.equal(await rig.store.depth(partition, address), 1);
      await rig.mustCommit(lease, 2, 4, { handled: [{ address, count: 1 }] });
      assert.equal(await rig.store.depth(partition, address), 0);
    });

    promise('a client message that is held back counts until it is handled', async (rig) => {
      const partition = await rig.partition();
      const address = rig.address();
      await rig.append(partition, address, 'fails for now');
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 1, { held: [{ address, count: 1 }] });
      await rig.reopen();
      assert.equal(await rig.store.depth(partition, address), 1);
      await rig.mustCommit(lease, 1, 1, { handled: [{ address, count: 1 }], held: [{ address, count: -1 }] });
      assert.equal(await rig.store.depth(partition, address), 0);
    });

    promise('forget removes record and events of the named actors only', async (rig) => {
      const partition = await rig.partition();
      const [gone, stays] = [rig.address(), rig.address()];
      const lease = await rig.lease(partition);
      const both = [gone, stays];
      await rig.mustCommit(lease, 0, 0, {
        records: both.map((address) => ({ address, record: 'r' })),
        events: both.map((address) => ({ address, first: 1, data: ['e'] })),
      });
      const stale = { ...lease, epoch: lease.epoch - 1 };
      assert.equal(await rig.store.forget(stale, 0, both), false);
      assert.deepEqual(await rig.store.load(partition, both), ['r', 'r']);
      assert.equal(await rig.store.forget(lease, 0, [gone, rig.address()]), true);
      assert.equal(await rig.store.forget(lease, 0, [gone]), true);
      assert.deepEqual(await rig.store.load(partition, both), [null, 'r']);
      assert.deepEqual(await rig.store.readEvents(partition, gone, 0, 10), []);
      assert.equal((await rig.store.readEvents(partition, stays, 0, 10)).length, 1);
      await rig.mustCommit(lease, 0, 0, { events: [{ address: gone, first: 1, data: ['again'] }] });
      assert.deepEqual(await rig.store.readEvents(partition, gone, 0, 10), [{ seq: 1, data: 'again' }]);
    });

    promise('forget takes many actors in one call, and a second one finds nothing to do', async (rig) => {
      const partition = await rig.partition();
      const many = Array.from({ length: 5_000 }, () => rig.address());
      const stays = rig.address();
      const lease = await rig.lease(partition);
      for (let from = 0; from < many.length; from += 1_000) {
        const some = many.slice(from, from + 1_000);
        await rig.mustCommit(lease, 0, 0, {
          records: [...some, stays].map((address) => ({ address, record: 'r' })),
          events: some.map((address) => ({ address, first: 1, data: ['e'] })),
        });
      }
      assert.equal(await rig.store.forget(lease, 0, many), true);
      assert.deepEqual(await rig.store.recorded(partition), [stays]);
      assert.equal(await rig.store.actorCount(partition), 1);
      for (const address of [many[0], many[4_999]]) {
        if (address !== undefined) assert.deepEqual(await rig.store.readEvents(partition, address, 0, 10), []);
      }
      assert.equal(await rig.store.forget(lease, 0, many), true);
      assert.deepEqual(await rig.store.recorded(partition), [stays]);
    });
  });
}
