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

it('after the clock of Redis was set back messages and results are taken, and none of the ids is forgotten', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const { admin, store } = await openedStore(test);
  const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 600_000);
  assert.ok(granted.kind === 'granted');
  const [effect = ''] = await open(store, granted.lease, 0, 1);
  const [older, newer] = [randomUUID(), randomUUID()].map((id) => ({ id, to, body: 'x' }));
  assert.ok(older !== undefined && newer !== undefined);
  const kinds = async (deliveries: readonly (typeof older)[]) =>
    (await store.append(PARTITION, deliveries, 10)).map(({ kind }) => kind);
  assert.deepEqual(await kinds([older]), ['accepted']);
  // The time at which the generation became the older one.
  await admin.hset(META, 'gen_at', 0);
  await handle(store, granted.lease, 0, 1);
  assert.deepEqual(await kinds([newer]), ['accepted']);
  // Both began an hour in the future of the clock that was set back.
  const ahead = Date.now() + 3_600_000;
  await admin.hset(META, { old_from: ahead - 60_000, gen_at: ahead, old_until: ahead + 60_000 });
  assert.deepEqual(await kinds([older, newer]), ['duplicate', 'duplicate']);
  assert.deepEqual(await kinds([{ ...older, id: randomUUID() }]), ['accepted']);
  const sent = { id: randomUUID(), to, body: '{}' };
  await admin.hset(META, { old_from: ahead - 60_000, gen_at: ahead, old_until: ahead + 60_000 });
  assert.equal(await store.settleEffect(PARTITION, effect, 1, sent), true);
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
