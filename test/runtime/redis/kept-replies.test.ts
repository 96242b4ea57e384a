import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { redisMissing } from '../../support/redis.ts';
import { openedStore } from './opened-store.ts';

const PARTITION: Partition = 'default:1';
const MOST_MS = 120_000;

it('replies that are kept for callers who missed them go two minutes after the last one at the latest', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const { admin, store } = await openedStore(test);
  const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 60_000);
  assert.ok(granted.kind === 'granted');
  for (let cursor = 0; cursor < 3; cursor += 1) {
    const id = randomUUID();
    await store.append(PARTITION, [{ id, to: addressOf('thing', 'acme', 'one'), body: 'x', fresh: true }], 100);
    const replies = [{ session: 'one', messageId: id, body: `answer ${cursor}`, fresh: true }];
    const outcome = await store.commit(commitOf(granted.lease, cursor, cursor + 1, { replies }), 0);
    assert.equal(outcome.kind, 'committed');
    assert.equal(await store.recallReply(PARTITION, id, { seq: cursor + 1 }), `answer ${cursor}`);
    const leftMs = await admin.pttl(`{svc:${PARTITION}}:replies`);
    assert.ok(leftMs > 0.8 * MOST_MS && leftMs <= MOST_MS, `${leftMs} ms`);
  }
});
