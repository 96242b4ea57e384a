import assert from 'node:assert/strict';
import type { Lease } from '../../runtime/actor-store.ts';
import type { Partition } from '../../runtime/address.ts';
import { type MakeStore, type Rig, section } from './actor-store-rig.ts';

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

const sendsTo = (rig: Rig, partition: Partition, bodies: readonly string[]) =>
  bodies.map((body) => ({ partition, delivery: rig.delivery(rig.address(), body) }));

/** Reads a target that has no holder. */
async function arrived(rig: Rig, partition: Partition): Promise<string[]> {
  const lease = await rig.lease(partition, 'reader');
  const bodies = await rig.bodies(lease);
  await rig.store.release(lease);
  return bodies;
}

export function sendContract(make: MakeStore): void {
  section('messages between actors', make, (promise) => {
    promise('sends to the own partition arrive with the commit, in order, behind what waits', async (rig) => {
      const partition = await rig.partition();
      await rig.append(partition, rig.address(), 'client');
      const lease = await rig.lease(partition);
      const outcome = await rig.mustCommit(lease, 0, 0, { sends: sendsTo(rig, partition, numbered('s', 20)) }, 100);
      assert.deepEqual(outcome.owing, []);
      assert.deepEqual(await rig.bodies(lease), ['client', ...numbered('s', 20)]);
    });

    promise('sends to other partitions arrive exactly once, in order per target', async (rig) => {
      const [source, one, two] = await rig.partitions(3);
      assert.ok(source && one && two);
      const lease = await rig.lease(source);
      for (const batch of ['a', 'b', 'c']) {
        const sends = numbered(batch, 30).flatMap((body) => [
          ...sendsTo(rig, one, [body]),
          ...sendsTo(rig, two, [body]),
        ]);
        await rig.mustCommit(lease, 0, 0, { sends });
      }
      await rig.flush(lease);
      assert.equal(await rig.store.flushOutbox(lease), false);
      await rig.flush(lease);
      const expected = ['a', 'b', 'c'].flatMap((batch) => numbered(batch, 30));
      assert.deepEqual(await arrived(rig, one), expected);
      assert.deepEqual(await arrived(rig, two), expected);
    });

    promise('hand-overs that run concurrently deliver nothing twice and keep the order', async (rig) => {
      const [source, target] = await rig.partitions(2);
      assert.ok(source && target);
      const other = await rig.another();
      const lease = await rig.lease(source);
      const expected: string[] = [];
      for (let round = 0; round < 10; round++) {
        const bodies = numbered(`r${round}-`, 25);
        expected.push(...bodies);
        await Promise.all([
          rig.mustCommit(lease, 0, 0, { sends: sendsTo(rig, target, bodies) }),
          rig.store.flushOutbox(lease),
          other.flushOutbox(lease),
          rig.store.flushOutbox(lease),
        ]);
      }
      await Promise.all([rig.flush(lease), rig.flush(lease, other), rig.flush(lease)]);
      assert.deepEqual(await arrived(rig, target), expected);
    });

    promise('what a dead node owed is handed over by the next holder, once', async (rig) => {
      const [source, target] = await rig.partitions(2);
      assert.ok(source && target);
      const old = await rig.lease(source, 'node-a');
      await rig.mustCommit(old, 0, 0, { sends: sendsTo(rig, target, numbered('x', 50)) });
      await rig.store.release(old);
      await rig.reopen();
      const fresh = await rig.lease(source, 'node-b');
      const stale = await rig.another();
      const late = (lease: Lease<Partition>) => stale.flushOutbox(lease).catch(() => false);
      await Promise.all([rig.flush(fresh), late(old), late(old)]);
      await rig.flush(fresh);
      assert.deepEqual(await arrived(rig, target), numbered('x', 50));
    });

    promise('a target is reached from many sources without loss', async (rig) => {
      const [target, ...sources] = await rig.partitions(9);
      assert.ok(target);
      const leases = await Promise.all(sources.map((source) => rig.lease(source)));
      await Promise.all(
        leases.map(async (lease, n) => {
          for (const part of [0, 1, 2]) {
            await rig.mustCommit(lease, 0, 0, { sends: sendsTo(rig, target, numbered(`${n}:${part}:`, 10)) });
          }
          await rig.flush(lease);
        }),
      );
      const bodies = await arrived(rig, target);
      assert.equal(bodies.length, 8 * 30);
      for (let n = 0; n < 8; n++) {
        assert.deepEqual(
          bodies.filter((body) => body.startsWith(`${n}:`)),
          [0, 1, 2].flatMap((part) => numbered(`${n}:${part}:`, 10)),
        );
      }
    });

    promise('messages of actors are accepted by a full mailbox and not counted', async (rig) => {
      const [source, target] = await rig.partitions(2);
      assert.ok(source && target);
      const to = rig.address();
      await rig.store.append(target, [rig.delivery(to, 'client')], 1);
      const lease = await rig.lease(source);
      await rig.mustCommit(lease, 0, 0, {
        sends: numbered('a', 5).map((body) => ({ partition: target, delivery: rig.delivery(to, body) })),
      });
      await rig.flush(lease);
      assert.deepEqual(await arrived(rig, target), ['client', ...numbered('a', 5)]);
      assert.equal(await rig.store.depth(target, to), 1);
    });

    promise('large messages between partitions arrive whole', async (rig) => {
      const [source, target] = await rig.partitions(2);
      assert.ok(source && target);
      const lease = await rig.lease(source);
      const bodies = ['1', '2', '3'].map((digit) => `${digit}🦀`.repeat(200_000));
      await rig.mustCommit(lease, 0, 0, { sends: sendsTo(rig, target, bodies) });
      await rig.flush(lease);
      assert.deepEqual(await arrived(rig, target), bodies);
    });
  });
}
