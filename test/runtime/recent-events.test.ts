import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Address, addressOf, type Partition } from '../../runtime/address.ts';
import { RecentEvents } from '../../runtime/projection/recent-events.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const PARTITION: Partition = 'default:1';
const fresh = (): Address => addressOf('job', 'acme', randomUUID());

/** Recent events of a node whose partitions have these terms, over a store in which each event is `stored`. */
function recent(terms: Partial<Record<Partition, number>> = {}) {
  const definitionOf = (address: Address) => (address.startsWith('job/') ? job : counter);
  const events = new RecentEvents({
    registry: { definitionOf },
    cache: { termOf: (partition) => terms[partition] ?? 0 },
  });
  const store: Pick<ActorStore, 'readEvents'> = {
    readEvents: async (_partition, _address, after) => [{ seq: after + 1, data: 'stored' }],
  };
  const keep = (address: Address, first: number, ...data: string[]) =>
    events.keep({ changes: [{ partition: PARTITION, events: [{ address, first, data }] }] });
  const read = async (address: Address, lastEvent: number, partition = PARTITION) => {
    const found = await events.over(store, [{ address, lastEvent }]).readEvents(partition, address, 0, 200);
    return found.map(({ seq, data }) => `${seq} ${data}`);
  };
  return { keep, read };
}

test('an actor that ends soon after its begin is archived without a read of its events', async (t) => {
  let reads = 0;
  const node = await startKernelNode({
    definitions: [job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    store: (inner) => ({
      async readEvents(...asked) {
        reads += 1;
        return inner.readEvents(...asked);
      },
    }),
  });
  t.after(() => node.stop());
  const all = Array.from({ length: 20 }, fresh);
  await Promise.all(all.map((to) => node.runtime.client.ask(to, 'Run', { input: { value: 1 } })));
  await waitUntil('all to leave the store', async () => (await node.store.recorded('default:0')).length === 0);
  assert.equal(reads, 0);
  for (const to of all) {
    const kept = await node.runtime.archive.readEvents(to, 0, 10);
    assert.deepEqual(
      kept.map(({ seq, data }) => [seq, JSON.parse(data).n]),
      [
        [1, 'started'],
        [2, 'ended'],
      ],
    );
  }
});

test('events of several commits are there in order, from any one on', async () => {
  const { keep, read } = recent();
  const to = fresh();
  keep(to, 1, '{"n":"ä"}', '{}');
  keep(fresh(), 1, '{"n":"other"}');
  keep(to, 3, '{"n":"c"}');
  assert.deepEqual(await read(to, 3), ['1 {"n":"ä"}', '2 {}', '3 {"n":"c"}']);
});

test('an actor whose events are not all known is read from the store', async () => {
  const { keep, read } = recent();
  const [late, ahead, gap, moved] = [fresh(), fresh(), fresh(), fresh()];
  keep(late, 2, '{}');
  keep(ahead, 1, '{}');
  keep(gap, 1, '{}');
  keep(gap, 3, '{}');
  keep(gap, 2, '{}');
  keep(moved, 1, '{}');
  assert.deepEqual(await read(late, 2), ['1 stored']);
  assert.deepEqual(await read(ahead, 2), ['1 stored']);
  assert.deepEqual(await read(gap, 2), ['1 stored']);
  assert.deepEqual(await read(moved, 1, 'default:2'), ['1 stored']);
  assert.deepEqual(await read(fresh(), 1), ['1 stored']);
});

test('a partition that was taken again has none: the store may have lost or got events meanwhile', async () => {
  const terms = { [PARTITION]: 1 };
  const { keep, read } = recent(terms);
  const [ended, running] = [fresh(), fresh()];
  keep(ended, 1, '{}');
  keep(running, 1, '{}');
  terms[PARTITION] = 2;
  keep(running, 2, '{}');
  assert.deepEqual(await read(ended, 1), ['1 stored']);
  assert.deepEqual(await read(running, 2), ['1 stored']);
  // An actor that begins again has its new events.
  keep(ended, 1, '{"n":"again"}');
  assert.deepEqual(await read(ended, 1), ['1 {"n":"again"}']);
});

test('new events take the place of the oldest, whose actors are read from the store', async () => {
  const { keep, read } = recent();
  const long = `{"n":"${'x'.repeat(60_000)}"}`;
  const all = Array.from({ length: 200 }, fresh);
  for (const to of all) keep(to, 1, long);
  const found = await Promise.all(all.map(async (to) => (await read(to, 1))[0]));
  assert.equal(found[0], '1 stored');
  assert.equal(found[199], `1 ${long}`);
  const first = found.indexOf(`1 ${long}`);
  assert.ok(first > 50 && first < 100, `${first} of 200 are gone`);
  assert.ok(found.slice(first).every((one) => one === `1 ${long}`));
});
