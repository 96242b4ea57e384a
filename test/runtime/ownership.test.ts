import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { addressOf, type Log, type Partition, partitionOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { SvcError } from '../../runtime/errors.ts';
import { counter } from '../support/actors.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { testPlacement } from '../support/test-placement.ts';
import { waitUntil } from '../support/wait-until.ts';

/** The counter in a kind that may live away from home. */
const traveller = defineActor({ ...counter, kind: 'traveller', placed: true });

/** A counter whose home is the partition of that number. */
function counterIn(number: number, partitions: number) {
  for (;;) {
    const address = addressOf('counter', 'acme', randomUUID());
    if (partitionOf(address, { pool: 'default', partitions }) === `default:${number}`) return address;
  }
}

const pool = (name: string, partitions: number): Partition[] =>
  Array.from({ length: partitions }, (_, n): Partition => `${name}:${n}`);

const settings = { partitions: 2, systemPartitions: 1 };
const holds = (node: KernelNode, partition: Partition): boolean => node.runtime.held().includes(partition);

test('a slow grant of a lease delays no renewal of the others', async () => {
  const slow = Promise.withResolvers<void>();
  let hang = false;
  let hanging = false;
  let renewals = 0;
  const node = await startKernelNode({
    definitions: [counter],
    settings,
    store: (inner) => ({
      async acquire(partition, ...rest) {
        if (hang && partition === 'default:1') {
          hanging = true;
          await slow.promise;
        }
        return inner.acquire(partition, ...rest);
      },
      async renew(leases, ttlMs) {
        if (hanging) renewals += 1;
        return inner.renew(leases, ttlMs);
      },
    }),
  });
  try {
    hang = true;
    node.runtime.dropPartition('default:1');
    await waitUntil('renewals although a lease does not come', () => renewals >= 10);
    assert.ok(holds(node, 'default:0') && !holds(node, 'default:1'));
  } finally {
    slow.resolve();
    await node.stop();
  }
});

test('a lease that cannot be renewed is released alone', async () => {
  let away = false;
  let grants = 0;
  const refuse = (partition: Log): void => {
    if (away && partition === 'default:0') throw new SvcError('unavailable', 'its master is away');
  };
  const node = await startKernelNode({
    definitions: [counter],
    settings: { ...settings, leaseTtlMs: 500 },
    store: (inner) => ({
      async acquire(partition, ...rest) {
        refuse(partition);
        if (partition === 'default:1') grants += 1;
        return inner.acquire(partition, ...rest);
      },
      async renew(leases, ttlMs) {
        for (const { log } of leases) refuse(log);
        return inner.renew(leases, ttlMs);
      },
    }),
  });
  try {
    away = true;
    await waitUntil('the one to be given up', () => !holds(node, 'default:0'));
    assert.ok(holds(node, 'default:1') && node.runtime.ready());
    assert.equal(grants, 1);
  } finally {
    await node.stop();
  }
});

test('a node that cannot renew its node lease is not ready, and serves what the store says is its own', async () => {
  let away = false;
  const wanted = new Set([...pool('default', 2), ...pool('system', 1)]);
  const { placement } = testPlacement(async () => {
    if (away) throw new SvcError('unavailable', 'its master is away');
    return { wanted, queues: ['default'] };
  });
  const node = await startKernelNode({
    definitions: [counter],
    settings: { ...settings, leaseTtlMs: 500 },
    placement,
  });
  try {
    away = true;
    await waitUntil('the node not to be ready', () => !node.runtime.ready());
    assert.equal(await node.runtime.client.ask(counterIn(1, 2), 'Add', { by: 1 }, { timeoutMs: 20_000 }), 1);
    away = false;
    await waitUntil('the node to be ready', () => node.runtime.ready());
  } finally {
    await node.stop();
  }
});

test('a partition whose lease cannot be acquired keeps no other from being acquired', async () => {
  const node = await startKernelNode({
    definitions: [counter],
    settings: { ...settings, partitions: 100 },
    store: (inner) => ({
      async acquire(partition, ...rest) {
        if (partition === 'default:0') throw new SvcError('unavailable', 'its master is away');
        return inner.acquire(partition, ...rest);
      },
    }),
  });
  try {
    await waitUntil('all others to be held', () => node.runtime.held().length === 100);
    assert.ok(!holds(node, 'default:0'));
  } finally {
    await node.stop();
  }
});

test('a partition that was lost while the store was away is taken when the store is back, not with the next renewal', async () => {
  const backs = new Set<() => void>();
  const node = await startKernelNode({
    definitions: [counter],
    settings: { ...settings, leaseRenewMs: 3_600_000, leaseTtlMs: 7_200_000 },
    store: () => ({
      onReturn(back) {
        backs.add(back);
        return () => void backs.delete(back);
      },
    }),
  });
  node.runtime.dropPartition('default:1');
  assert.equal(holds(node, 'default:1'), false);
  for (const back of backs) back();
  await waitUntil('it to be taken again', () => holds(node, 'default:1'));
  await node.stop();
  assert.equal(backs.size, 0);
});

test('a partition that cannot be read keeps no other from being served', async () => {
  const away = Promise.withResolvers<void>();
  const node = await startKernelNode({
    definitions: [counter],
    settings,
    store: (inner) => ({
      async poll(asks, limit) {
        if (asks.some(({ lease }) => lease.log === 'default:0')) await away.promise;
        return inner.poll(asks, limit);
      },
    }),
  });
  try {
    const answer = await node.runtime.client.ask(counterIn(1, 2), 'Add', { by: 1 }, { timeoutMs: 20_000 });
    assert.equal(answer, 1);
  } finally {
    away.resolve();
    await node.stop();
  }
});

test('a partition that is taken again is served although a batch of its lost lease hangs', async () => {
  const hung = Promise.withResolvers<void>();
  let hang = true;
  let hanging = false;
  const node = await startKernelNode({
    definitions: [counter],
    settings,
    store: (inner) => ({
      async load(partition, addresses) {
        if (hang && partition === 'default:0') {
          hang = false;
          hanging = true;
          await hung.promise;
        }
        return inner.load(partition, addresses);
      },
    }),
  });
  const address = counterIn(0, 2);
  const { client } = node.runtime;
  try {
    const first = client.ask(address, 'Add', { by: 1 });
    await waitUntil('a batch to hang', () => hanging);
    node.runtime.dropPartition('default:0');
    assert.equal(await first, 1);
    assert.equal(await client.ask(address, 'Add', { by: 1 }), 2);
    hung.resolve();
    assert.equal(await client.ask(address, 'Add', { by: 1 }), 3);
    assert.equal(node.runtime.counts().fenced, 0, 'the lost lease ran no turn');
  } finally {
    hung.resolve();
    await node.stop();
  }
});

test('a partition kept for an actor goes when this node may not serve its pool any more', async () => {
  let queues = ['default', 'system', '+gpu'];
  const wanted = new Set([...pool('default', 2), ...pool('system', 1)]);
  const { placement, ring } = testPlacement(async () => ({ wanted, queues }));
  const node = await startKernelNode({
    definitions: [counter, traveller],
    settings: { ...settings, tagPoolPartitions: 1, leaseRenewMs: 1_000 },
    placement,
  });
  try {
    const address = addressOf('traveller', 'acme', randomUUID());
    const { partition } = await node.runtime.client.place(address, { tags: ['gpu'], here: true });
    assert.equal(partition, '+gpu:0');
    ring();
    await node.runtime.client.ask(address, 'Add', { by: 1 });
    assert.ok(holds(node, '+gpu:0'), 'kept beside the assignment');
    queues = ['default', 'system'];
    ring();
    await waitUntil('the partition to be given back', () => !holds(node, '+gpu:0'));
    assert.deepEqual(new Set(node.runtime.held()), wanted);
  } finally {
    await node.stop();
  }
});

test('actors that start on a node are spread over the partitions that it holds', async () => {
  const node = await startKernelNode({ definitions: [traveller], settings: { ...settings, partitions: 8 } });
  try {
    const places = new Set<Partition>();
    for (let n = 0; n < 16; n += 1) {
      const address = addressOf('traveller', 'acme', randomUUID());
      places.add((await node.runtime.client.place(address, { tags: [], here: true })).partition);
    }
    assert.deepEqual([...places].sort(), pool('default', 8));
  } finally {
    await node.stop();
  }
});

test('a node whose id another process took never becomes a member again, also when that process is gone', async () => {
  let code: 'conflict' | 'lease_lost' | null = null;
  let joined = 0;
  let refused = 0;
  const wanted = new Set([...pool('default', 2), ...pool('system', 1)]);
  const { placement } = testPlacement(async () => {
    if (code === null) return { wanted, queues: ['default'] };
    if (code === 'lease_lost') refused += 1;
    throw new SvcError(code);
  });
  const join = async (): Promise<void> => {
    joined += 1;
  };
  const node = await startKernelNode({ definitions: [counter], settings, placement: { ...placement, join } });
  try {
    code = 'conflict';
    await waitUntil('the node to give up', () => node.runtime.held().length === 0 && !node.runtime.ready());
    code = 'lease_lost';
    await waitUntil('two more questions', () => refused >= 2);
    assert.ok(!node.runtime.ready());
    assert.equal(joined, 1, 'a member that takes nothing would keep others from serving its share');
  } finally {
    await node.stop();
  }
});

test('a timer is not late for one of another partition that cannot be fired', async () => {
  const away = Promise.withResolvers<void>();
  const node = await startKernelNode({
    definitions: [counter],
    settings,
    store: (inner) => ({
      async fireTimers(leases) {
        if (leases.some(({ log }) => log === 'default:0')) await away.promise;
        return inner.fireTimers(leases);
      },
    }),
  });
  const { client } = node.runtime;
  const [first, second] = [counterIn(0, 2), counterIn(1, 2)];
  try {
    // Both are due at the same time, so they are fired together.
    const due = { by: 1, afterMs: 100 };
    await Promise.all([first, second].map((address) => client.ask(address, 'AddLater', due)));
    await waitUntil('the timer', async () => (await client.events(second, 0, 1)).length === 1);
  } finally {
    away.resolve();
    await node.stop();
  }
});

test('a node polls once more for any number of notifications', async () => {
  const first = Promise.withResolvers<void>();
  let asked = 0;
  let slow = false;
  const wanted = new Set([...pool('default', 2), ...pool('system', 1)]);
  const { placement, ring } = testPlacement(async () => {
    asked += 1;
    if (slow) await first.promise;
    return { wanted, queues: ['default'] };
  });
  const node = await startKernelNode({
    definitions: [counter],
    settings: { ...settings, leaseRenewMs: 60_000 },
    placement,
  });
  try {
    const before = asked;
    slow = true;
    for (let n = 0; n < 100; n += 1) ring();
    await waitUntil('the question', () => asked === before + 1);
    for (let n = 0; n < 100; n += 1) ring();
    first.resolve();
    slow = false;
    await node.runtime.client.ask(counterIn(0, 2), 'Add', { by: 1 });
    assert.ok(asked <= before + 2, `${asked - before} questions`);
  } finally {
    await node.stop();
  }
});

test('an actor that was placed on the local node stays there for the next local placement, also at its home partition', async () => {
  const node = await startKernelNode({ definitions: [traveller], settings: { ...settings, partitions: 1 } });
  try {
    const address = addressOf('traveller', 'acme', randomUUID());
    const { partition } = await node.runtime.client.place(address, { tags: [], here: true });
    assert.equal(partition, 'default:0');
    // Another worker with the same information.
    assert.equal(await node.store.place('default:0', address, 'default:7'), 'default:0');
  } finally {
    await node.stop();
  }
});

test('a node leaves and gives its leases back although its effects do not end in order', async () => {
  let left = 0;
  const wanted = new Set([...pool('default', 2), ...pool('system', 1)]);
  const { placement } = testPlacement(async () => ({ wanted, queues: ['default'] }));
  const released: Partition[] = [];
  const node = await startKernelNode({
    definitions: [counter],
    settings,
    placement: {
      ...placement,
      isServed: async () => false,
      async leave() {
        left += 1;
      },
    },
    store: (inner) => ({
      async release(lease) {
        released.push(lease.log);
        await inner.release(lease);
      },
    }),
    effects: () => ({
      work: async () => async () => {
        throw new SvcError('unavailable', 'the queue is away');
      },
    }),
  });
  await node.stop();
  assert.deepEqual([left, new Set(released)], [1, wanted]);
});

test('released partitions are announced while a batch of another one still runs', async () => {
  const hung = Promise.withResolvers<void>();
  let hanging = false;
  let wanted = new Set([...pool('default', 2), ...pool('system', 1)]);
  const { placement, ring, freed } = testPlacement(async () => ({ wanted, queues: ['default'] }));
  const node = await startKernelNode({
    definitions: [counter],
    settings: { ...settings, leaseRenewMs: 60_000, leaseTtlMs: 120_000 },
    placement,
    store: (inner) => ({
      async load(partition, addresses) {
        if (partition === 'default:0') {
          hanging = true;
          await hung.promise;
        }
        return inner.load(partition, addresses);
      },
    }),
  });
  try {
    const asked = node.runtime.client.ask(counterIn(0, 2), 'Add', { by: 1 });
    await waitUntil('a batch to hang', () => hanging);
    wanted = new Set(pool('system', 1));
    ring();
    await waitUntil('the other partition to be announced as free', () => freed() > 0);
    assert.deepEqual(node.runtime.held().toSorted(), ['default:0', 'system:0']);
    wanted = new Set([...pool('default', 2), ...pool('system', 1)]);
    hung.resolve();
    assert.equal(await asked, 1);
  } finally {
    hung.resolve();
    await node.stop();
  }
});

test('a partition that another node released is acquired without another look at the members', async () => {
  let asked = 0;
  let isHeld = true;
  const wanted = new Set([...pool('default', 2), ...pool('system', 1)]);
  const { placement, ring } = testPlacement(async () => {
    asked += 1;
    return { wanted, queues: ['default'] };
  });
  const node = await startKernelNode({
    definitions: [counter],
    settings: { ...settings, leaseRenewMs: 60_000, leaseTtlMs: 120_000 },
    placement,
    store: (inner) => ({
      async acquire(partition, ...rest) {
        if (isHeld && partition === 'default:1')
          return { kind: 'held', by: 'node-b/1', grant: 'other', remainingMs: 100_000 };
        return inner.acquire(partition, ...rest);
      },
    }),
  });
  try {
    assert.equal(holds(node, 'default:1'), false);
    const before = asked;
    isHeld = false;
    ring('freed');
    await waitUntil('the partition to be acquired', () => holds(node, 'default:1'));
    assert.equal(asked, before);
    // With nothing left to acquire, the announcement may come from a member that is not known yet.
    ring('freed');
    await waitUntil('a look at the members', () => asked > before);
  } finally {
    await node.stop();
  }
});
