import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { openedStore } from './opened-store.ts';

const PARTITION: Partition = 'default:1';
const self = addressOf('thing', 'tenant-a', 'one');
const STREAM = `{svc:default:1}:events:${self}`;
const MOST_TOGETHER = 16;
const BYTES_TOGETHER = 16_384;

/** A store with its own Redis, and a function that commits events of one actor. */
async function withEvents(test: TestContext, eventPacks: () => boolean) {
  const server = await startRedis();
  const { admin } = await openedStore(test, server.url);
  const store = new RedisActorStore({ urls: server.url, eventPacks });
  test.after(async () => {
    await store.close();
    await server.stop();
  });
  await store.open();
  const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 600_000);
  assert.ok(granted.kind === 'granted');
  const { lease } = granted;
  let written = 0;
  return {
    store,
    entries: () => admin.xlen(STREAM),
    async commit(data: readonly string[]): Promise<void> {
      const events = [{ address: self, first: written + 1, data }];
      assert.equal((await store.commit(commitOf(lease, 0, 0, { events }), 10)).kind, 'committed');
      written += data.length;
    },
  };
}

const numbered = (count: number, text = 'e') => Array.from({ length: count }, (_, index) => `${text}${index + 1}`);

describe('events on Redis', { skip: redisMissing() ?? false }, () => {
  it('the events of one commit share an entry, up to 16 of them and 16 KiB', async (test) => {
    const { commit, entries, store } = await withEvents(test, () => true);
    await commit(numbered(12));
    assert.equal(await entries(), 1);
    await commit(numbered(2 * MOST_TOGETHER + 1));
    assert.equal(await entries(), 1 + 3);
    const long = 'x'.repeat(BYTES_TOGETHER / 2);
    await commit([long, long, long, 'short']);
    assert.equal(await entries(), 1 + 3 + 2);
    const all = await store.readEvents(PARTITION, self, 0, 100);
    assert.deepEqual(
      all.map(({ seq, data }) => [seq, data.length > 9 ? 'long' : data]),
      [...numbered(12), ...numbered(33), 'long', 'long', 'long', 'short'].map((data, index) => [index + 1, data]),
    );
  });

  it('while a program of format 3 may read them, each event is an entry; a stream may have both', async (test) => {
    let isAlone = false;
    const { commit, entries, store } = await withEvents(test, () => isAlone);
    await commit(numbered(5, 'apart'));
    assert.equal(await entries(), 5);
    isAlone = true;
    await commit(numbered(5, 'together'));
    assert.equal(await entries(), 6);
    assert.deepEqual(
      await store.readEvents(PARTITION, self, 3, 4),
      ['apart4', 'apart5', 'together1', 'together2'].map((data, index) => ({ seq: index + 4, data })),
    );
  });

  it('a page has the events behind its beginning, in order, wherever entries begin and end', async (test) => {
    const { commit, store } = await withEvents(test, () => true);
    const sizes = [1, 3, 16, 17, 2, 40, 1, 1, 5];
    for (const size of sizes) await commit(numbered(size));
    const data = sizes.flatMap((size) => numbered(size));
    const all = data.map((text, index) => ({ seq: index + 1, data: text }));
    const pages = fc.asyncProperty(fc.nat(all.length + 2), fc.integer({ min: 1, max: 40 }), async (after, limit) => {
      assert.deepEqual(await store.readEvents(PARTITION, self, after, limit), all.slice(after, after + limit));
    });
    await fc.assert(pages, { numRuns: 200 });
  });
});
