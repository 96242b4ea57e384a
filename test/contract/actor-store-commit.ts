import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { at, type MakeStore, section } from './store-under-test.ts';

export function commitContract(make: MakeStore): void {
  section('the one commit', make, (promise) => {
    promise('a commit applies everything it holds, and it is there after a restart', async (driver) => {
      const [partition, elsewhere] = await driver.partitions(2);
      assert.ok(partition && elsewhere);
      const [self, peer, remote] = [driver.address(), driver.address(), driver.address()];
      const [asked] = await driver.append(partition, self, 'ask');
      assert.ok(asked);
      const lease = await driver.lease(partition);
      const effect = randomUUID();
      const outcome = await driver.mustCommit(lease, 0, 1, {
        records: [
          { address: self, record: '{"n":1}' },
          { address: peer, record: '{"n":2}' },
        ],
        journal: 'turns',
        events: [{ address: self, first: 1, data: ['e1', 'e2'] }],
        sends: [
          { partition, delivery: driver.delivery(peer, 'to peer') },
          { partition: elsewhere, delivery: driver.delivery(remote, 'to remote') },
        ],
        timersSet: [{ id: 'tick', afterMs: 50_000, delivery: driver.delivery(self, 'tick') }],
        effectsOpened: [{ id: effect, queue: 'default', address: self, mode: 'once', body: 'do it' }],
        replies: [{ session: 's', messageId: asked, body: 'answer' }],
        handled: [{ address: self, count: 1 }],
      });
      assert.ok(Math.abs(outcome.at - (await driver.store.now())) < 60_000, 'the commit names its store time');
      await driver.flush(lease);
      await driver.reopen();

      assert.deepEqual(await driver.store.load(partition, [self, driver.address(), peer]), [
        '{"n":1}',
        null,
        '{"n":2}',
      ]);
      assert.deepEqual(await driver.store.readEvents(partition, self, 0, 10), [
        { seq: 1, data: 'e1' },
        { seq: 2, data: 'e2' },
      ]);
      const regained = await driver.lease(partition);
      assert.deepEqual(await driver.bodies(regained, 1), ['to peer']);
      assert.deepEqual(await driver.bodies(await driver.lease(elsewhere)), ['to remote']);
      assert.equal(await driver.fireTimers(regained), outcome.at + 50_000);
      const [row, ...rest] = await driver.store.openEffects(partition);
      assert.deepEqual(rest, []);
      assert.ok(row);
      assert.deepEqual(
        { id: row.id, queue: row.queue, address: row.address, mode: row.mode, status: row.status },
        { id: effect, queue: 'default', address: self, mode: 'once', status: 'open' },
      );
      assert.equal(await driver.store.recallReply(partition, asked), 'answer');
      assert.equal(await driver.store.depth(partition, self), 0);
      assert.equal(await driver.cursor(partition), 1);
      const [journal] = await driver.store.readJournal(partition, 0, 10);
      assert.equal(journal?.row, 'turns');
    });

    promise('records are replaced, and deleted by null', async (driver) => {
      const partition = await driver.partition();
      const [one, two] = [driver.address(), driver.address()];
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 0, {
        records: [
          { address: one, record: 'old' },
          { address: two, record: 'stays' },
        ],
      });
      await driver.mustCommit(lease, 0, 0, { records: [{ address: one, record: 'new' }] });
      assert.deepEqual(await driver.store.load(partition, [one, two]), ['new', 'stays']);
      await driver.mustCommit(lease, 0, 0, { records: [{ address: one, record: null }] });
      await driver.mustCommit(lease, 0, 0, { records: [{ address: driver.address(), record: null }] });
      assert.deepEqual(await driver.store.load(partition, [one, two]), [null, 'stays']);
      assert.deepEqual(await driver.store.load(partition, []), []);
    });

    promise('an actor of the same address in another partition is another actor', async (driver) => {
      const [one, two] = await driver.partitions(2);
      assert.ok(one && two);
      const address = driver.address();
      const [first, second] = [await driver.lease(one), await driver.lease(two)];
      await driver.mustCommit(first, 0, 0, {
        records: [{ address, record: 'one' }],
        events: [{ address, first: 1, data: ['of one'] }],
      });
      await driver.mustCommit(second, 0, 0, { records: [{ address, record: 'two' }] });
      assert.deepEqual(await driver.store.load(one, [address]), ['one']);
      assert.deepEqual(await driver.store.load(two, [address]), ['two']);
      assert.deepEqual(await driver.store.readEvents(two, address, 0, 10), []);
    });

    promise(
      'a commit reads ahead: the entries behind it come with its answer, up to the number asked',
      async (driver) => {
        const partition = await driver.partition();
        await driver.append(partition, driver.address(), 'a', 'b', 'c', 'd');
        const lease = await driver.lease(partition);
        const some = await driver.mustCommit(lease, 0, 1, {}, 2);
        assert.deepEqual(
          some.next.map((entry) => [entry.seq, entry.body]),
          [
            [2, 'b'],
            [3, 'c'],
          ],
        );
        assert.deepEqual((await driver.mustCommit(lease, 1, 3, {}, 0)).next, []);
        const own = await driver.mustCommit(
          lease,
          3,
          4,
          { sends: [{ partition, delivery: driver.delivery(driver.address(), 'own') }] },
          10,
        );
        assert.deepEqual(
          own.next.map((entry) => [entry.seq, entry.body]),
          [[5, 'own']],
        );
      },
    );

    promise('commits in flight together over many partitions all apply', async (driver) => {
      const partitions = await driver.partitions(16);
      const address = driver.address();
      const leases = await Promise.all(partitions.map((partition) => driver.lease(partition)));
      for (const round of [1, 2, 3]) {
        await Promise.all(
          leases.map((lease, n) =>
            driver.mustCommit(lease, 0, 0, {
              records: [{ address, record: `${n} ${round}` }],
              events: [{ address, first: round, data: [`${n} ${round}`] }],
            }),
          ),
        );
      }
      for (const [n, partition] of partitions.entries()) {
        assert.deepEqual(await driver.store.load(partition, [address]), [`${n} 3`]);
        assert.equal((await driver.store.readEvents(partition, address, 0, 10)).length, 3);
      }
    });

    promise('large and odd contents come back as they were', async (driver) => {
      const partition = await driver.partition();
      const address = driver.address();
      const lease = await driver.lease(partition);
      const large = 'ü🦀'.repeat(250_000);
      const data = Array.from({ length: 1_000 }, (_, n) => `event ${n} \u0000 "漢"`);
      await driver.append(partition, address, 'x');
      await driver.mustCommit(lease, 0, 1, {
        records: [{ address, record: large }],
        journal: large,
        events: [{ address, first: 1, data }],
      });
      assert.deepEqual(await driver.store.load(partition, [address]), [large]);
      assert.equal(at(await driver.store.readJournal(partition, 0, 10), 0).row, large);
      const events = await driver.store.readEvents(partition, address, 0, 2_000);
      assert.deepEqual(
        events.map((event) => event.data),
        data,
      );
    });

    promise('client messages only count in the depth, and handled ones leave it', async (driver) => {
      const partition = await driver.partition();
      const address = driver.address();
      await driver.append(partition, address, 'one', 'two', 'three');
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 2, {
        sends: [{ partition, delivery: driver.delivery(address, 'from an actor') }],
        handled: [{ address, count: 2 }],
      });
      assert.equal(await driver.store.depth(partition, address), 1);
      await driver.mustCommit(lease, 2, 4, { handled: [{ address, count: 1 }] });
      assert.equal(await driver.store.depth(partition, address), 0);
    });

    promise('a client message that is held back counts until it is handled', async (driver) => {
      const partition = await driver.partition();
      const address = driver.address();
      await driver.append(partition, address, 'fails for now');
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 1, { held: [{ address, count: 1 }] });
      await driver.reopen();
      assert.equal(await driver.store.depth(partition, address), 1);
      await driver.mustCommit(lease, 1, 1, { handled: [{ address, count: 1 }], held: [{ address, count: -1 }] });
      assert.equal(await driver.store.depth(partition, address), 0);
    });

    promise('forget removes record and events of the named actors only', async (driver) => {
      const partition = await driver.partition();
      const [gone, stays] = [driver.address(), driver.address()];
      const lease = await driver.lease(partition);
      const both = [gone, stays];
      await driver.mustCommit(lease, 0, 0, {
        records: both.map((address) => ({ address, record: 'r' })),
        events: both.map((address) => ({ address, first: 1, data: ['e'] })),
      });
      const stale = { ...lease, epoch: lease.epoch - 1 };
      assert.equal(await driver.store.forget(stale, 0, both), false);
      assert.deepEqual(await driver.store.load(partition, both), ['r', 'r']);
      assert.equal(await driver.store.forget(lease, 0, [gone, driver.address()]), true);
      assert.equal(await driver.store.forget(lease, 0, [gone]), true);
      assert.deepEqual(await driver.store.load(partition, both), [null, 'r']);
      assert.deepEqual(await driver.store.readEvents(partition, gone, 0, 10), []);
      assert.equal((await driver.store.readEvents(partition, stays, 0, 10)).length, 1);
      await driver.mustCommit(lease, 0, 0, { events: [{ address: gone, first: 1, data: ['again'] }] });
      assert.deepEqual(await driver.store.readEvents(partition, gone, 0, 10), [{ seq: 1, data: 'again' }]);
    });

    promise('forget takes many actors in one call, and a second one finds nothing to do', async (driver) => {
      const partition = await driver.partition();
      const many = Array.from({ length: 5_000 }, () => driver.address());
      const stays = driver.address();
      const lease = await driver.lease(partition);
      for (let from = 0; from < many.length; from += 1_000) {
        const some = many.slice(from, from + 1_000);
        await driver.mustCommit(lease, 0, 0, {
          records: [...some, stays].map((address) => ({ address, record: 'r' })),
          events: some.map((address) => ({ address, first: 1, data: ['e'] })),
        });
      }
      assert.equal(await driver.store.forget(lease, 0, many), true);
      assert.deepEqual(await driver.store.recorded(partition), [stays]);
      assert.equal(await driver.store.actorCount(partition), 1);
      for (const address of [many[0], many[4_999]]) {
        if (address !== undefined) assert.deepEqual(await driver.store.readEvents(partition, address, 0, 10), []);
      }
      assert.equal(await driver.store.forget(lease, 0, many), true);
      assert.deepEqual(await driver.store.recorded(partition), [stays]);
    });
  });
}
