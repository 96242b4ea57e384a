import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { commitOf } from '../../contract/store-under-test.ts';

const PARTITION: Partition = 'default:1';
const to = addressOf('thing', 'tenant-a', 'one');

test('a poll that finds nothing new writes nothing, and neither do timers that are not due', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-polls-'));
  const store = new SqliteActorStore({ directory });
  await store.open();
  const observer = new DatabaseSync(join(directory, 'actors.db'), { readOnly: true });
  t.after(async () => {
    observer.close();
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });
  /** Another number after each commit of another connection that changed the file. */
  const version = () => observer.prepare('PRAGMA data_version').get()?.data_version;
  const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 60_000);
  assert.ok(granted.kind === 'granted');
  const { lease } = granted;
  const first = version();
  await store.append(PARTITION, [{ id: randomUUID(), to, body: 'first' }], 10);
  const before = version();
  assert.notEqual(before, first, 'a write is seen');
  for (let n = 0; n < 20; n += 1) assert.equal((await store.poll([{ lease, after: 0 }], 100))[0]?.length, 1);
  assert.equal(version(), before, 'a poll that only reads wrote something');
  assert.equal((await store.commit(commitOf(lease, 0, 1), 0)).kind, 'committed');
  const committed = version();
  for (let n = 0; n < 20; n += 1) {
    assert.deepEqual(await store.poll([{ lease, after: 1 }], 100), [[]]);
    assert.deepEqual(await store.fireTimers([lease]), [null]);
    assert.equal(await store.flushOutbox(), false);
  }
  assert.equal(version(), committed, 'a poll that found nothing wrote something');
});
