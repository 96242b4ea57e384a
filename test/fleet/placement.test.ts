import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { addressOf, poolOf } from '../../runtime/address.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type FleetKernels, type FleetNode, openFleetKernels } from './fleet-kernels.ts';

const missing = serversMissing();
const ALL = 36;
/** Far longer than any wait of these tests: what is seen within one did not wait for an expired lease. */
const TTL_MS = 120_000;

const heldBy = (nodes: readonly FleetNode[]): string[] => nodes.flatMap(({ runtime }) => [...runtime.held()]).sort();
const isShared = (nodes: readonly FleetNode[]): boolean => {
  const held = heldBy(nodes);
  return held.length === ALL && new Set(held).size === ALL && nodes.every(({ runtime }) => runtime.held().length > 0);
};

describe('a fleet over one store', { skip: missing || false }, () => {
  let kernels: FleetKernels;
  before(async () => {
    kernels = await openFleetKernels({ leaseTtlMs: TTL_MS });
  });
  after(() => kernels[Symbol.asyncDispose]());

  test('a node that joins gets its share, and one that leaves hands its own over, without a wait for an expired lease', async () => {
    const first = await kernels.node('join-a');
    assert.equal(first.runtime.held().length, ALL);
    const second = await kernels.node('join-b');
    await waitUntil('both hold a share', () => isShared([first, second]), TTL_MS / 2);
    const counters = Array.from({ length: 40 }, () => addressOf('counter', 'acme', randomUUID()));
    const adds = await Promise.all(counters.map((address) => first.runtime.client.ask(address, 'Add', { by: 1 })));
    assert.deepEqual(new Set(adds), new Set([1]));
    await second.stop();
    await waitUntil('the first holds all again', () => first.runtime.held().length === ALL, TTL_MS / 2);
    const again = await Promise.all(counters.map((address) => first.runtime.client.ask(address, 'Add', { by: 1 })));
    assert.deepEqual(new Set(again), new Set([2]));
    await first.stop();
  });

  test('a live node that is reported dead loses its partitions and no message, and then becomes a member again', async () => {
    const [a, b] = [await kernels.node('wrong-a'), await kernels.node('wrong-b')];
    await waitUntil('both hold a share', () => isShared([a, b]));
    const counters = Array.from({ length: 40 }, () => addressOf('counter', 'acme', randomUUID()));
    const asks = counters.flatMap((address) => [1, 2, 3].map(() => b.runtime.client.ask(address, 'Add', { by: 1 })));
    await b.placement.declareDead(a.name, a.placement.incarnation);
    await Promise.all(asks);
    for (const address of counters) {
      const snapshot = await b.runtime.client.read(address);
      assert.deepEqual(snapshot?.state, { value: 3, asks: 0, blob: '' });
    }
    await waitUntil('both hold a share again', () => isShared([a, b]));
    await Promise.all([a.stop(), b.stop()]);
  });

  test('a second process with the same node id takes over, and the first serves nothing any more', async () => {
    const first = await kernels.node('twin');
    const second = await kernels.node('twin');
    await waitUntil('the first is not ready', () => !first.runtime.ready());
    assert.equal(first.runtime.held().length, 0);
    await waitUntil('the second holds all', () => second.runtime.held().length === ALL);
    await Promise.all([first.stop(), second.stop()]);
  });

  test('controllers serve the pool system, workers all other pools', async () => {
    const controller = await kernels.node('role-c', { role: 'controller' });
    const worker = await kernels.node('role-w', { role: 'worker' });
    await waitUntil('the worker holds pool default', () => worker.runtime.held().length === 32);
    assert.deepEqual(new Set(controller.runtime.held().map(poolOf)), new Set(['system']));
    assert.deepEqual(new Set(worker.runtime.held().map(poolOf)), new Set(['default']));
    await Promise.all([controller.stop(), worker.stop()]);
  });

  test('an actor placed by tags is activated on a node with these tags, any node finds it, and its effects run there', async () => {
    const plain = await kernels.node('tags-plain');
    const gpu = await kernels.node('tags-gpu', { tags: ['gpu', 'zone:eu'] });
    const address = addressOf('traveller', 'acme', randomUUID());
    const placed = await plain.runtime.client.place(address, { tags: ['gpu'] });
    assert.deepEqual([placed.pool, placed.served], ['+gpu', true]);
    assert.equal(await plain.runtime.client.ask(address, 'Add', { by: 2 }), 2);
    assert.equal(await gpu.runtime.client.ask(address, 'Add', { by: 2 }), 4);
    assert.ok(gpu.runtime.held().includes(placed.partition));
    assert.ok(!plain.runtime.held().some((partition) => poolOf(partition) === '+gpu'));
    const elsewhere = await gpu.runtime.client.place(address, { tags: [] });
    assert.equal(elsewhere.partition, placed.partition, 'the first placement of an address is kept');
    await Promise.all([plain.stop(), gpu.stop()]);
  });

  test('an actor that is placed on the local node is activated there, also when the node held no partition of the pool', async () => {
    const [a, b] = [await kernels.node('here-a', { tags: ['here'] }), await kernels.node('here-b', { tags: ['here'] })];
    for (const node of [a, b]) {
      const address = addressOf('traveller', 'acme', randomUUID());
      const { partition } = await node.runtime.client.place(address, { tags: ['here'], here: true });
      assert.equal(await a.runtime.client.ask(address, 'Add', { by: 1 }), 1);
      assert.ok(node.runtime.held().includes(partition), `${node.name} holds ${partition}`);
    }
    await Promise.all([a.stop(), b.stop()]);
  });

  test('tags that change at run time change which nodes serve, without a restart', async () => {
    const [a, b] = [await kernels.node('retag-a', { tags: ['ssd'] }), await kernels.node('retag-b')];
    const address = addressOf('traveller', 'acme', randomUUID());
    await a.runtime.client.place(address, { tags: ['ssd'] });
    assert.equal(await b.runtime.client.ask(address, 'Add', { by: 1 }), 1);
    await b.placement.setTags(['ssd']);
    await a.placement.setTags([]);
    const holds = (node: FleetNode) => node.runtime.held().some((partition) => poolOf(partition) === '+ssd');
    await waitUntil('the other node has the pool', () => holds(b) && !holds(a));
    assert.equal(await a.runtime.client.ask(address, 'Add', { by: 1 }), 2);
    await Promise.all([a.stop(), b.stop()]);
  });

  test('the number of tag sets is bounded: one more is refused by name, the existing ones go on', async () => {
    const node = await kernels.node('bound');
    const place = (tag: string) =>
      node.runtime.client.place(addressOf('traveller', 'acme', randomUUID()), { tags: [tag] });
    const known = new Set((await node.stores.store.pools()).map(({ pool }) => pool));
    for (let number = known.size; number < 256; number += 1) await node.stores.store.definePool(`+bound-${number}`, 1);
    await assert.rejects(place('one-too-many'), { code: 'failed_precondition', field: 'target_tags' });
    assert.equal((await place('bound-200')).pool, '+bound-200');
    await node.stop();
  });
});
