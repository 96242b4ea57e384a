import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import type { ActorStore, Lease } from '../../../runtime/actor-store.ts';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { redisMissing } from '../../support/redis.ts';
import { openedStore } from './opened-store.ts';

const PARTITION: Partition = 'default:1';
const META = '{svc:default:1}:meta';
/** A generation, and what one call adds to it. */
const MOST_FIELDS = 4_096 + 300;
const ROUNDS = 60;
const AT_ONCE = 250;
const to = addressOf('thing', 'tenant-a', 'one');

it('results and chunks alone do not fill the memory of seen ids', { skip: redisMissing() ?? false }, async (test) => {
  const { admin, store } = await openedStore(test);
  const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 600_000);
  assert.ok(granted.kind === 'granted');
  const { lease } = granted;
  let cursor = 0;
  const most = { chunks: 0, results: 0 };
  const fields = () => admin.hlen(META);

  const streamed = await open(store, lease, cursor, 1);
  for (let round = 0; round < ROUNDS; round++) {
    const sent = Array.from({ length: AT_ONCE }, () =>
      store.progressEffect(PARTITION, streamed[0] ?? '', 1, { id: randomUUID(), to, body: '{}' }),
    );
    assert.ok((await Promise.all(sent)).every((kept) => kept));
    await handle(store, lease, cursor, cursor + AT_ONCE);
    cursor += AT_ONCE;
    most.chunks = Math.max(most.chunks, await fields());
  }
  for (let round = 0; round < ROUNDS; round++) {
    const ids = await open(store, lease, cursor, AT_ONCE);
    const sent = ids.map((id) => store.settleEffect(PARTITION, id, 1, { id: randomUUID(), to, body: '{}' }));
    assert.ok((await Promise.all(sent)).every((kept) => kept));
    await handle(store, lease, cursor, cursor + AT_ONCE);
    cursor += AT_ONCE;
    most.results = Math.max(most.results, await fields());
  }
  assert.ok(most.chunks <= MOST_FIELDS && most.results <= MOST_FIELDS, `meta had ${JSON.stringify(most)} fields`);
  assert.equal((await store.append(PARTITION, [{ id: randomUUID(), to, body: 'x' }], 10))[0]?.kind, 'accepted');
  assert.deepEqual(await store.backlog(PARTITION).then((found) => [found.cursor, found.tail]), [cursor, cursor + 1]);
});

async function open(store: ActorStore, lease: Lease, cursor: number, count: number): Promise<string[]> {
  const started = { runner: 'node-a/1', ttlMs: 600_000 };
  const effect = { queue: 'default', address: to, mode: 'repeatable' as const, body: '{}', started };
  const effectsOpened = Array.from({ length: count }, () => ({ ...effect, id: randomUUID() }));
  const outcome = await store.commit(commitOf(lease, cursor, cursor, { effectsOpened }), 10);
  assert.equal(outcome.kind, 'committed');
  return effectsOpened.map(({ id }) => id);
}

async function handle(store: ActorStore, lease: Lease, after: number, upTo: number): Promise<void> {
  assert.equal((await store.commit(commitOf(lease, after, upTo, {}), 10)).kind, 'committed');
}
