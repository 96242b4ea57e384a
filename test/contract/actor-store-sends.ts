import assert from 'node:assert/strict';
import type { Lease } from '../../runtime/actor-store.ts';
import type { Partition } from '../../runtime/address.ts';
import { type MakeStore, type StoreDriver, section } from './store-under-test.ts';

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

const sendsTo = (driver: StoreDriver, partition: Partition, bodies: readonly string[]) =>
  bodies.map((body) => ({ partition, delivery: driver.delivery(driver.address(), body) }));

/** Reads a target that has no holder. */
async function arrived(driver: StoreDriver, partition: Partition): Promise<string[]> {
  const lease = await driver.lease(partition, 'reader');
  const bodies = await driver.bodies(lease);
  await driver.store.release(lease);
  return bodies;
}

export function sendContract(make: MakeStore): void {
  section('messages between actors', make, (promise) => {
    promise('sends to the own partition arrive with the commit, in order, behind what waits', async (driver) => {
      const partition = await driver.partition();
      await driver.append(partition, driver.address(), 'client');
      const lease = await driver.lease(partition);
      const outcome = await driver.mustCommit(
        lease,
        0,
        0,
        { sends: sendsTo(driver, partition, numbered('s', 20)) },
        100,
      );
      assert.deepEqual(outcome.owing, []);
      assert.deepEqual(await driver.bodies(lease), ['client', ...numbered('s', 20)]);
    });

    promise('sends to other partitions arrive exactly once, in order per target', async (driver) => {
      const [source, one, two] = await driver.partitions(3);
      assert.ok(source && one && two);
      const lease = await driver.lease(source);
      for (const batch of ['a', 'b', 'c']) {
        const sends = numbered(batch, 30).flatMap((body) => [
          ...sendsTo(driver, one, [body]),
          ...sendsTo(driver, two, [body]),
        ]);
        await driver.mustCommit(lease, 0, 0, { sends });
      }
      await driver.flush(lease);
      assert.equal(await driver.store.flushOutbox(lease), false);
      await driver.flush(lease);
      const expected = ['a', 'b', 'c'].flatMap((batch) => numbered(batch, 30));
      assert.deepEqual(await arrived(driver, one), expected);
      assert.deepEqual(await arrived(driver, two), expected);
    });

    promise('hand-overs that run concurrently deliver nothing twice and keep the order', async (driver) => {
      const [source, target] = await driver.partitions(2);
      assert.ok(source && target);
      const other = await driver.another();
      const lease = await driver.lease(source);
      const expected: string[] = [];
      for (let round = 0; round < 10; round++) {
        const bodies = numbered(`r${round}-`, 25);
        expected.push(...bodies);
        await Promise.all([
          driver.mustCommit(lease, 0, 0, { sends: sendsTo(driver, target, bodies) }),
          driver.store.flushOutbox(lease),
          other.flushOutbox(lease),
          driver.store.flushOutbox(lease),
        ]);
      }
      await Promise.all([driver.flush(lease), driver.flush(lease, other), driver.flush(lease)]);
      assert.deepEqual(await arrived(driver, target), expected);
    });

    promise('sends that a dead node still owed are delivered once by the next holder', async (driver) => {
      const [source, target] = await driver.partitions(2);
      assert.ok(source && target);
      const old = await driver.lease(source, 'node-a');
      await driver.mustCommit(old, 0, 0, { sends: sendsTo(driver, target, numbered('x', 50)) });
      await driver.store.release(old);
      await driver.reopen();
      const fresh = await driver.lease(source, 'node-b');
      const stale = await driver.another();
      const late = (lease: Lease<Partition>) => stale.flushOutbox(lease).catch(() => false);
      await Promise.all([driver.flush(fresh), late(old), late(old)]);
      await driver.flush(fresh);
      assert.deepEqual(await arrived(driver, target), numbered('x', 50));
    });

    promise('a target is reached from many sources without loss', async (driver) => {
      const [target, ...sources] = await driver.partitions(9);
      assert.ok(target);
      const leases = await Promise.all(sources.map((source) => driver.lease(source)));
      await Promise.all(
        leases.map(async (lease, n) => {
          for (const part of [0, 1, 2]) {
            await driver.mustCommit(lease, 0, 0, { sends: sendsTo(driver, target, numbered(`${n}:${part}:`, 10)) });
          }
          await driver.flush(lease);
        }),
      );
      const bodies = await arrived(driver, target);
      assert.equal(bodies.length, 8 * 30);
      for (let n = 0; n < 8; n++) {
        assert.deepEqual(
          bodies.filter((body) => body.startsWith(`${n}:`)),
          [0, 1, 2].flatMap((part) => numbered(`${n}:${part}:`, 10)),
        );
      }
    });

    promise('messages of actors are accepted by a full mailbox and not counted', async (driver) => {
      const [source, target] = await driver.partitions(2);
      assert.ok(source && target);
      const to = driver.address();
      await driver.store.append(target, [driver.delivery(to, 'client')], 1);
      const lease = await driver.lease(source);
      await driver.mustCommit(lease, 0, 0, {
        sends: numbered('a', 5).map((body) => ({ partition: target, delivery: driver.delivery(to, body) })),
      });
      await driver.flush(lease);
      assert.deepEqual(await arrived(driver, target), ['client', ...numbered('a', 5)]);
      assert.equal(await driver.store.depth(target, to), 1);
    });

    promise('large messages between partitions arrive whole', async (driver) => {
      const [source, target] = await driver.partitions(2);
      assert.ok(source && target);
      const lease = await driver.lease(source);
      const bodies = ['1', '2', '3'].map((digit) => `${digit}🦀`.repeat(200_000));
      await driver.mustCommit(lease, 0, 0, { sends: sendsTo(driver, target, bodies) });
      await driver.flush(lease);
      assert.deepEqual(await arrived(driver, target), bodies);
    });
  });
}
