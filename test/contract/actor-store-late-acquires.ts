import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Promises } from './store-under-test.ts';

const TTL_MS = 60_000;

/** Copies of acquires that arrive when the lease is free again. */
export function lateAcquiresContract(promise: Promises): void {
  promise('a copy of an acquire that was refused gets nothing once the lease was given back', async (driver) => {
    const partition = await driver.partition();
    const lease = await driver.lease(partition, 'node-a');
    const recording = driver.record();
    const refused = await driver.store.acquire(partition, 'node-b', randomUUID(), TTL_MS);
    assert.ok(refused.kind === 'held' && refused.by === 'node-a');
    const copies = recording?.stop();
    await driver.store.release(lease);
    await copies?.();
    await driver.lease(partition, 'node-c');
  });

  promise(
    'copies of acquires that several processes were refused get nothing once the lease was given back',
    async (driver) => {
      const partition = await driver.partition();
      const lease = await driver.lease(partition, 'node-a');
      const recording = driver.record();
      for (const node of ['node-b', 'node-c', 'node-d']) {
        const refused = await (await driver.another()).acquire(partition, node, randomUUID(), TTL_MS);
        assert.ok(refused.kind === 'held' && refused.by === 'node-a');
      }
      const copies = recording?.stop();
      await driver.store.release(lease);
      await copies?.();
      await driver.lease(partition, 'node-e');
    },
  );

  promise(
    'a copy of an acquire that was granted gets nothing once another process had the lease and gave it back',
    async (driver) => {
      const partition = await driver.partition();
      const recording = driver.record();
      await driver.store.release(await driver.lease(partition, 'node-a'));
      const copies = recording?.stop();
      const other = await driver.another();
      const taken = await other.acquire(partition, 'node-b', randomUUID(), TTL_MS);
      assert.ok(taken.kind === 'granted');
      await other.release(taken.lease);
      await copies?.();
      await driver.lease(partition, 'node-c');
    },
  );
}
