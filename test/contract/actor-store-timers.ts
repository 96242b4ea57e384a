import assert from 'node:assert/strict';
import { type MakeStore, section } from './store-under-test.ts';

export function timerContract(make: MakeStore): void {
  section('timers', make, (promise) => {
    promise('a timer fires not before it is due, and once', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const lease = await driver.lease(partition);
      const { at: setAt } = await driver.mustCommit(lease, 0, 0, {
        timersSet: [{ id: 't', afterMs: 80, delivery: driver.delivery(to, 'tick') }],
      });
      const early = await driver.fireTimers(lease);
      if ((await driver.store.now()) < setAt + 80) {
        assert.equal(early, setAt + 80);
        assert.deepEqual(await driver.bodies(lease), []);
      }
      await driver.elapse(85);
      assert.equal(await driver.fireTimers(lease), null);
      const [entry, ...rest] = await driver.entries(lease);
      assert.deepEqual(rest, []);
      assert.equal(entry?.body, 'tick');
      assert.ok(entry.at >= setAt + 80, `fired ${entry.at - setAt} ms after it was set for 80`);
      assert.equal(await driver.fireTimers(lease), null);
      assert.equal((await driver.entries(lease)).length, 1);
      assert.equal(await driver.store.depth(partition, to), 0);
    });

    promise('a timer survives a restart and a change of the node', async (driver) => {
      const partition = await driver.partition();
      const first = await driver.lease(partition, 'node-a');
      await driver.mustCommit(first, 0, 0, {
        timersSet: [{ id: 't', afterMs: 20, delivery: driver.delivery(driver.address(), 'tick') }],
      });
      await driver.store.release(first);
      await driver.reopen();
      await driver.elapse(25);
      const second = await driver.lease(partition, 'node-b');
      await driver.fireTimers(second);
      assert.deepEqual(await driver.bodies(second), ['tick']);
    });

    promise('setting a timer again replaces it', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const lease = await driver.lease(partition);
      const set = (body: string, afterMs: number) =>
        driver.mustCommit(lease, 0, 0, { timersSet: [{ id: 't', afterMs, delivery: driver.delivery(to, body) }] });
      await set('old', 5);
      const { at: setAt } = await set('new', 60_000);
      await driver.elapse(10);
      assert.equal(await driver.fireTimers(lease), setAt + 60_000);
      await set('newest', 5);
      await driver.elapse(10);
      assert.equal(await driver.fireTimers(lease), null);
      assert.deepEqual(await driver.bodies(lease), ['newest']);
    });

    promise('a cleared timer never fires; clearing an unknown one changes nothing', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const lease = await driver.lease(partition);
      const set = ['a', 'b'].map((id) => ({ id, afterMs: 5, delivery: driver.delivery(to, id) }));
      await driver.mustCommit(lease, 0, 0, { timersSet: set });
      await driver.mustCommit(lease, 0, 0, { timersCleared: ['a', 'unknown'] });
      await driver.elapse(10);
      assert.equal(await driver.fireTimers(lease), null);
      assert.deepEqual(await driver.bodies(lease), ['b']);
    });

    promise('a timer that one commit clears and sets is set', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 0, {
        timersSet: [{ id: 't', afterMs: 1, delivery: driver.delivery(to, 'old') }],
      });
      await driver.mustCommit(lease, 0, 0, {
        timersCleared: ['t'],
        timersSet: [{ id: 't', afterMs: 5, delivery: driver.delivery(to, 'new') }],
      });
      await driver.elapse(10);
      await driver.fireTimers(lease);
      assert.deepEqual(await driver.bodies(lease), ['new']);
    });

    promise('due timers fire in the order of their times', async (driver) => {
      const partition = await driver.partition();
      const lease = await driver.lease(partition);
      await driver.mustCommit(lease, 0, 0, {
        timersSet: [30, 10, 20].map((afterMs) => ({
          id: `t${afterMs}`,
          afterMs,
          delivery: driver.delivery(driver.address(), `${afterMs}`),
        })),
      });
      await driver.elapse(40);
      await driver.fireTimers(lease);
      assert.deepEqual(await driver.bodies(lease), ['10', '20', '30']);
    });

    promise('ids are unique in a partition only, and leases are answered in the order asked', async (driver) => {
      const [one, two, three] = await driver.partitions(3);
      assert.ok(one && two && three);
      const to = driver.address();
      const [first, second, third] = [await driver.lease(one), await driver.lease(two), await driver.lease(three)];
      const set = async (lease: typeof first, afterMs: number) =>
        (await driver.mustCommit(lease, 0, 0, { timersSet: [{ id: 'same', afterMs, delivery: driver.delivery(to) }] }))
          .at + afterMs;
      const [dueOne, dueTwo] = [await set(first, 70_000), await set(second, 90_000)];
      assert.deepEqual(await driver.store.fireTimers([second, third, first]), [dueTwo, null, dueOne]);
      assert.deepEqual(await driver.store.fireTimers([]), []);
    });

    promise('says when timers are due, and nothing of those that are not set', async (driver) => {
      const [partition, other] = await driver.partitions(2);
      assert.ok(partition && other);
      const lease = await driver.lease(partition);
      const delivery = () => driver.delivery(driver.address());
      assert.deepEqual(await driver.store.timersDue(partition, ['a', 'b']), [null, null]);
      const { at } = await driver.mustCommit(lease, 0, 0, {
        timersSet: [
          { id: 'a', afterMs: 60_000, delivery: delivery() },
          { id: 'b', afterMs: 90_000, delivery: delivery() },
        ],
      });
      assert.deepEqual(await driver.store.timersDue(partition, ['b', 'unknown', 'a']), [
        at + 90_000,
        null,
        at + 60_000,
      ]);
      assert.deepEqual(await driver.store.timersDue(partition, []), []);
      assert.deepEqual(await driver.store.timersDue(other, ['a']), [null]);
      await driver.mustCommit(lease, 0, 0, { timersCleared: ['a'] });
      assert.deepEqual(await driver.store.timersDue(partition, ['a', 'b']), [null, at + 90_000]);
    });

    promise('1,000 timers due together all fire, each once', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      const lease = await driver.lease(partition);
      const names = Array.from({ length: 1_000 }, (_, n) => `timer ${n}`);
      await driver.mustCommit(lease, 0, 0, {
        timersSet: names.map((id) => ({ id, afterMs: 1, delivery: driver.delivery(to, id) })),
      });
      await driver.elapse(5);
      for (let round = 0; round < 1_000 && (await driver.fireTimers(lease)) !== null; round++);
      assert.deepEqual((await driver.bodies(lease)).toSorted(), names.toSorted());
    });
  });
}
