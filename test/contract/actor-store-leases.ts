import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { eventually, type MakeStore, section } from './store-under-test.ts';

const TTL_MS = 60;

export function leaseContract(make: MakeStore): void {
  section('leases', make, (promise) => {
    promise('a pool keeps the partition count of its first use', async (driver) => {
      const pool = `pool-${randomUUID()}`;
      assert.equal(await driver.store.definePool(pool, 8), 8);
      assert.equal(await driver.store.definePool(pool, 16), 8);
      await driver.reopen();
      assert.equal(await driver.store.definePool(pool, 4), 8);
    });

    promise('two nodes cannot both hold a partition', async (driver) => {
      const partition = await driver.partition();
      const other = await driver.another();
      const [one, two] = await Promise.all([
        driver.store.acquire(partition, 'node-a', randomUUID(), 30_000),
        other.acquire(partition, 'node-b', randomUUID(), 30_000),
      ]);
      assert.deepEqual([one.kind, two.kind].toSorted(), ['granted', 'held']);
      const held = one.kind === 'held' ? one : two;
      assert.ok(held.kind === 'held');
      assert.equal(held.by, one.kind === 'held' ? 'node-b' : 'node-a');
      const granted = one.kind === 'granted' ? one : two;
      assert.ok(granted.kind === 'granted');
      assert.equal(held.grant, granted.lease.grant);
      assert.ok(held.remainingMs > 0 && held.remainingMs <= 30_000, `${held.remainingMs} ms of 30,000 remain`);
    });

    promise('the epoch grows at each grant, also after a restart', async (driver) => {
      const partition = await driver.partition();
      const epochs: number[] = [];
      for (const node of ['node-a', 'node-b', 'node-a']) {
        const lease = await driver.lease(partition, node);
        epochs.push(lease.epoch);
        await driver.store.release(lease);
      }
      await driver.reopen();
      epochs.push((await driver.lease(partition)).epoch);
      assert.deepEqual(
        epochs,
        epochs.toSorted((a, b) => a - b),
      );
      assert.equal(new Set(epochs).size, epochs.length);
    });

    promise('a grant answers the cursor, the last entry and the time of the next timer', async (driver) => {
      const partition = await driver.partition();
      const to = driver.address();
      await driver.append(partition, to, 'a', 'b');
      const first = await driver.store.acquire(partition, 'node-a', 'grant-1', 30_000);
      assert.ok(first.kind === 'granted');
      assert.deepEqual([first.cursor, first.tail], [0, 2]);
      assert.equal(first.nextTimerAt, null);
      assert.deepEqual(
        { partition: first.lease.log, node: first.lease.node, grant: first.lease.grant },
        { partition, node: 'node-a', grant: 'grant-1' },
      );
      const { at } = await driver.mustCommit(first.lease, 0, 2, {
        timersSet: [{ id: 't', afterMs: 40_000, delivery: driver.delivery(to) }],
      });
      await driver.store.release(first.lease);
      const second = await driver.store.acquire(partition, 'node-b', randomUUID(), 30_000);
      assert.ok(second.kind === 'granted');
      assert.deepEqual([second.cursor, second.tail], [2, 2]);
      assert.equal(second.nextTimerAt, at + 40_000);
    });

    promise('an expired lease is taken over, a live one is not', async (driver) => {
      const partition = await driver.partition();
      const old = await driver.lease(partition, 'node-a', TTL_MS);
      await driver.elapse(TTL_MS + 5);
      const fresh = await driver.lease(partition, 'node-b');
      assert.ok(fresh.epoch > old.epoch);
      assert.deepEqual(await driver.store.renew([old], 30_000), [old]);
      const again = await driver.store.acquire(partition, 'node-a', randomUUID(), 30_000);
      assert.equal(again.kind, 'held');
    });

    promise('a renewed lease outlives its first term, and renew names exactly the lost ones', async (driver) => {
      const [one, two] = await driver.partitions(2);
      assert.ok(one && two);
      const kept = await driver.lease(one, 'node-a', 5_000);
      const lost = await driver.lease(two, 'node-a', 5_000);
      await driver.store.release(lost);
      await driver.lease(two, 'node-b');
      assert.deepEqual(await driver.store.renew([kept, lost], 600_000), [lost]);
      const asked = await driver.store.acquire(one, 'node-b', randomUUID(), 1_000);
      assert.ok(asked.kind === 'held');
      assert.ok(asked.remainingMs > 500_000, `${asked.remainingMs} ms remain`);
      assert.deepEqual(await driver.store.renew([], 1_000), []);
    });

    promise('a later incarnation of the same node gets its partition back at once', async (driver) => {
      const partition = await driver.partition();
      const before = await driver.lease(partition, 'node-a');
      await driver.reopen();
      const after = await driver.lease(partition, 'node-a');
      assert.ok(after.epoch > before.epoch);
      assert.deepEqual(await driver.store.renew([before], 30_000), [before]);
      assert.equal((await driver.commit(before, 0, 0)).kind, 'fenced');
      assert.equal((await driver.commit(after, 0, 0)).kind, 'committed');
    });

    promise('a lease is taken over the grant of its dead holder, which commits nothing more', async (driver) => {
      const partition = await driver.partition();
      const dead = await driver.lease(partition, 'node-a');
      const other = await driver.another();
      const asked = await other.acquire(partition, 'node-b', randomUUID(), 30_000);
      assert.ok(asked.kind === 'held');
      const taken = await other.acquire(partition, 'node-b', randomUUID(), 30_000, asked.grant);
      assert.ok(taken.kind === 'granted');
      assert.ok(taken.lease.epoch > dead.epoch);
      assert.deepEqual(await driver.store.renew([dead], 30_000), [dead]);
      assert.equal((await driver.commit(dead, 0, 0)).kind, 'fenced');
      assert.equal((await driver.commit(taken.lease, 0, 0)).kind, 'committed');
      assert.deepEqual(await other.renew([taken.lease], 30_000), []);
    });

    promise('a live lease is not taken over another grant than its own', async (driver) => {
      const partition = await driver.partition();
      const earlier = await driver.lease(partition, 'node-a');
      const later = await driver.lease(partition, 'node-a');
      for (const over of [earlier.grant, randomUUID(), '']) {
        const asked = await driver.store.acquire(partition, 'node-b', randomUUID(), 30_000, over);
        assert.ok(asked.kind === 'held', `over ${over} it was ${asked.kind}`);
        assert.equal(asked.grant, later.grant);
      }
      assert.deepEqual(await driver.store.renew([later], 30_000), []);
    });

    promise('of nodes that race to take over one dead holder, one is granted the lease', async (driver) => {
      const partition = await driver.partition();
      const dead = await driver.lease(partition, 'node-a');
      const stores = [driver.store, await driver.another(), driver.store, await driver.another()];
      const asked = await Promise.all(
        stores.map((store, n) => store.acquire(partition, `heir-${n}`, randomUUID(), 30_000, dead.grant)),
      );
      const granted = asked.filter((outcome) => outcome.kind === 'granted');
      assert.equal(granted.length, 1);
      for (const outcome of asked) if (outcome.kind === 'held') assert.equal(outcome.by, granted[0]?.lease.node);
    });

    promise('a take-over that is repeated, since its answer was lost, is granted again', async (driver) => {
      const partition = await driver.partition();
      const dead = await driver.lease(partition, 'node-a');
      const grant = randomUUID();
      await driver.store.acquire(partition, 'node-b', grant, 30_000, dead.grant);
      const again = await driver.store.acquire(partition, 'node-b', grant, 30_000, dead.grant);
      assert.ok(again.kind === 'granted' && again.lease.epoch > dead.epoch);
      assert.equal((await driver.commit(again.lease, 0, 0)).kind, 'committed');
    });

    promise('a released partition is free at once, and its old lease commits nothing', async (driver) => {
      const partition = await driver.partition();
      const old = await driver.lease(partition, 'node-a');
      await driver.store.release(old);
      assert.equal((await driver.commit(old, 0, 0)).kind, 'fenced');
      const fresh = await driver.lease(partition, 'node-b');
      await driver.store.release(old);
      assert.deepEqual(await driver.store.renew([fresh], 30_000), []);
    });

    promise('notifications go to the node that took a partition over, not to the former holder', async (driver) => {
      const partition = await driver.partition();
      const old = await driver.lease(partition, 'node-a');
      await driver.store.release(old);
      await driver.lease(partition, 'node-b');
      const rung: string[] = [];
      const stops = ['node-a', 'node-b'].map((node) =>
        driver.store.onWake(node, (which) => {
          if (which === partition) rung.push(node);
        }),
      );
      await eventually('a bell rings', async () => {
        await driver.append(partition, driver.address(), 'ding');
        return rung.length > 0;
      });
      for (const stop of stops) stop();
      assert.deepEqual([...new Set(rung)], ['node-b']);
    });
  });
}
