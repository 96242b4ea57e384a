import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import type { Redis } from 'ioredis';
import { addressOf, type Log, type Partition } from '../../../runtime/address.ts';
import { commitOf, eventually } from '../../contract/store-under-test.ts';
import { redisMissing } from '../../support/redis.ts';
import { openedStore } from './opened-store.ts';

const PARTITION: Partition = 'default:1';
const to = addressOf('thing', 'tenant-a', 'one');

it('a poll that finds nothing new writes nothing, and the next append still notifies the node', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const { admin, store } = await openedStore(test);
  const rung: Log[] = [];
  store.onWake('node-a', (partition) => rung.push(partition));
  const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 60_000);
  assert.ok(granted.kind === 'granted');
  const { lease } = granted;
  const poll = async (after: number) => (await store.poll([{ lease, after }], 100))[0]?.map(({ body }) => body);

  for (const [after, body] of ['first', 'second'].entries()) {
    // The first poll behind an append arms the bell again; those that follow find it armed.
    assert.deepEqual(await poll(after), []);
    const before = await changes(admin);
    for (let n = 0; n < 20; n++) assert.deepEqual(await poll(after), []);
    assert.equal(await changes(admin), before, 'a poll that found nothing wrote something');
    rung.length = 0;
    await store.append(PARTITION, [{ id: randomUUID(), to, body }], 10);
    await eventually('the bell rings', () => rung.includes(PARTITION));
    assert.deepEqual(await poll(after), [body]);
    assert.equal((await store.commit(commitOf(lease, after, after + 1), 0)).kind, 'committed');
  }
});

async function changes(admin: Redis): Promise<number> {
  return Number(/rdb_changes_since_last_save:(\d+)/.exec(await admin.info('persistence'))?.[1]);
}
