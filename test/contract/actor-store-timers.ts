import assert from 'node:assert/strict';
import { type MakeStore, section } from './actor-store-rig.ts';

export function timerContract(make: MakeStore): void {
  section('timers', make, (promise) => {
    promise('a timer fires not before it is due, and once', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      const lease = await rig.lease(partition);
      const { at: setAt } = await rig.mustCommit(lease, 0, 0, {
        timersSet: [{ id: 't', afterMs: 80, delivery: rig.delivery(to, 'tick') }],
      });
      const early = await rig.fireTimers(lease);
      if ((await rig.store.now()) < setAt + 80) {
        assert.equal(early, setAt + 80);
        assert.deepEqual(await rig.bodies(lease), []);
      }
      await rig.elapse(85);
      assert.equal(await rig.fireTimers(lease), null);
      const [entry, ...rest] = await rig.entries(lease);
      assert.deepEqual(rest, []);
      assert.equal(entry?.body, 'tick');
      assert.ok(entry.at >= setAt + 80, `fired ${entry.at - setAt} ms after it was set for 80`);
      assert.equal(await rig.fireTimers(lease), null);
      assert.equal((await rig.entries(lease)).length, 1);
      assert.equal(await rig.store.depth(partition, to), 0);
    });

    promise('a timer survives a restart and a change of the node', async (rig) => {
      const partition = await rig.partition();
      const first = await rig.lease(partition, 'node-a');
      await rig.mustCommit(first, 0, 0, {
        timersSet: [{ id: 't', afterMs: 20, delivery: rig.delivery(rig.address(), 'tick') }],
      });
      await rig.store.release(first);
      await rig.reopen();
      await rig.elapse(25);
      const second = await rig.lease(partition, 'node-b');
      await rig.fireTimers(second);
      assert.deepEqual(await rig.bodies(second), ['tick']);
    });

    promise('setting a timer again replaces it', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      const lease = await rig.lease(partition);
      const set = (body: string, afterMs: number) =>
        rig.mustCommit(lease, 0, 0, { timersSet: [{ id: 't', afterMs, delivery: rig.delivery(to, body) }] });
      await set('old', 5);
      const { at: setAt } = await set('new', 60_000);
      await rig.elapse(10);
      assert.equal(await rig.fireTimers(lease), setAt + 60_000);
      await set('newest', 5);
      await rig.elapse(10);
      assert.equal(await rig.fireTimers(lease), null);
      assert.deepEqual(await rig.bodies(lease), ['newest']);
    });

    promise('a cleared timer never fires; clearing an unknown one changes nothing', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      const lease = await rig.lease(partition);
      const set = ['a', 'b'].map((id) => ({ id, afterMs: 5, delivery: rig.delivery(to, id) }));
      await rig.mustCommit(lease, 0, 0, { timersSet: set });
      await rig.mustCommit(lease, 0, 0, { timersCleared: ['a', 'unknown'] });
      await rig.elapse(10);
      assert.equal(await rig.fireTimers(lease), null);
      assert.deepEqual(await rig.bodies(lease), ['b']);
    });

    promise('a timer that one commit clears and sets is set', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 0, { timersSet: [{ id: 't', afterMs: 1, delivery: rig.delivery(to, 'old') }] });
      await rig.mustCommit(lease, 0, 0, {
        timersCleared: ['t'],
        timersSet: [{ id: 't', afterMs: 5, delivery: rig.delivery(to, 'new') }],
      });
      await rig.elapse(10);
      await rig.fireTimers(lease);
      assert.deepEqual(await rig.bodies(lease), ['new']);
    });

    promise('due timers fire in the order of their times', async (rig) => {
      const partition = await rig.partition();
      const lease = await rig.lease(partition);
      await rig.mustCommit(lease, 0, 0, {
        timersSet: [30, 10, 20].map((afterMs) => ({
          id: `t${afterMs}`,
          afterMs,
          delivery: rig.delivery(rig.address(), `${afterMs}`),
        })),
      });
      await rig.elapse(40);
      await rig.fireTimers(lease);
      assert.deepEqual(await rig.bodies(lease), ['10', '20', '30']);
    });

    promise('ids are unique in a partition only, and leases are answered in the order asked', async (rig) => {
      const [one, two, three] = await rig.partitions(3);
      assert.ok(one && two && three);
      const to = rig.address();
      const [first, second, third] = [await rig.lease(one), await rig.lease(two), await rig.lease(three)];
      const set = async (lease: typeof first, afterMs: number) =>
        (await rig.mustCommit(lease, 0, 0, { timersSet: [{ id: 'same', afterMs, delivery: rig.delivery(to) }] })).at +
        afterMs;
      const [dueOne, dueTwo] = [await set(first, 70_000), await set(second, 90_000)];
      assert.deepEqual(await rig.store.fireTimers([second, third, first]), [dueTwo, null, dueOne]);
      assert.deepEqual(await rig.store.fireTimers([]), []);
    });

    promise('says when timers are due, and nothing of those that are not set', async (rig) => {
      const [partition, other] = await rig.partitions(2);
      assert.ok(partition && other);
      const lease = await rig.lease(partition);
      const delivery = () => rig.delivery(rig.address());
      assert.deepEqual(await rig.store.timersDue(partition, ['a', 'b']), [null, null]);
      const { at } = await rig.mustCommit(lease, 0, 0, {
        timersSet: [
          { id: 'a', afterMs: 60_000, delivery: delivery() },
          { id: 'b', afterMs: 90_000, delivery: delivery() },
        ],
      });
      assert.deepEqual(await rig.store.timersDue(partition, ['b', 'unknown', 'a']), [at + 90_000, null, at + 60_000]);
      assert.deepEqual(await rig.store.timersDue(partition, []), []);
      assert.deepEqual(await rig.store.timersDue(other, ['a']), [null]);
      await rig.mustCommit(lease, 0, 0, { timersCleared: ['a'] });
      assert.deepEqual(await rig.store.timersDue(partition, ['a', 'b']), [null, at + 90_000]);
    });

    promise('1,000 timers due together all fire, each once', async (rig) => {
      const partition = await rig.partition();
      const to = rig.address();
      const lease = await rig.lease(partition);
      const names = Array.from({ length: 1_000 }, (_, n) => `timer ${n}`);
      await rig.mustCommit(lease, 0, 0, {
        timersSet: names.map((id) => ({ id, afterMs: 1, delivery: rig.delivery(to, id) })),
      });
      await rig.elapse(5);
      for (let round = 0; round < 1_000 && (await rig.fireTimers(lease)) !== null; round++);
      assert.deepEqual((await rig.bodies(lease)).toSorted(), names.toSorted());
    });
  });
}
