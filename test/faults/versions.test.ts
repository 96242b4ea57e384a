import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf, partitionOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { SvcError } from '../../runtime/errors.ts';
import { counter } from '../support/actors.ts';
import { mongoMissing } from '../support/ferretdb.ts';
import { redisMissing } from '../support/redis.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Kernel, type Kernels, openKernels, PARTITIONS } from './kernels.ts';

const skip = (redisMissing() ?? (await mongoMissing())) || false;

const Add = z.object({ by: z.number() });

/** The kind as it was … */
const oldSum = defineActor({
  kind: 'sum',
  version: 1,
  state: z.object({ value: z.number() }),
  initial: () => ({ value: 0 }),
  messages: { Add },
  events: {},
  on: {
    Add(state, { by }, turn) {
      turn.reply(state.value + by);
      return { value: state.value + by };
    },
  },
});

/** … and as it is: it counts its turns too. */
const newSum = defineActor({
  kind: 'sum',
  version: 2,
  state: z.object({ total: z.number(), turns: z.number() }),
  initial: () => ({ total: 0, turns: 0 }),
  migrate: (state) => ({ total: z.object({ value: z.number() }).parse(state).value, turns: 0 }),
  messages: { Add },
  events: {},
  on: {
    Add(state, { by }, turn) {
      turn.reply(state.total + by);
      return { total: state.total + by, turns: state.turns + 1 };
    },
  },
});

const unavailable = (error: unknown): boolean => error instanceof SvcError && error.code === 'unavailable';

describe('versions that share a fleet', { skip, timeout: 120_000 }, () => {
  let kernels: Kernels;
  before(async () => {
    kernels = await openKernels();
  });
  after(() => kernels?.[Symbol.asyncDispose]());

  const layout = { pool: 'default', partitions: PARTITIONS };
  /** Addresses of a kind whose home is one of these partitions. */
  const among = (kind: string, held: readonly string[], count: number) => {
    const found: Address[] = [];
    while (found.length < count) {
      const address = addressOf(kind, 'acme', randomUUID());
      if (held.includes(partitionOf(address, layout))) found.push(address);
    }
    return found;
  };
  const heldByBoth = (a: Kernel, b: Kernel): Promise<unknown> =>
    waitUntil('both nodes hold a share', () => {
      const shares = [a, b].map(({ runtime }) => runtime.held().length);
      return shares.every((share) => share > 0) && shares.reduce((sum, share) => sum + share) === PARTITIONS + 2;
    });

  test('a new node takes over what an old one wrote, and migrates it', async () => {
    const before = await kernels.start('migrate-old', { definitions: [oldSum] });
    const address = addressOf('sum', 'acme', randomUUID());
    assert.equal(await before.runtime.client.ask(address, 'Add', { by: 2 }), 2);
    await before.stop();
    const fresh = await kernels.start('migrate-new', { definitions: [newSum] });
    assert.equal(await fresh.runtime.client.ask(address, 'Add', { by: 3 }), 5);
    assert.deepEqual((await fresh.runtime.client.read(address))?.state, { total: 5, turns: 1 });
    await fresh.stop();
  });

  test('an old node never overwrites what a newer one wrote: its actor waits, and is served when the old node left', async () => {
    const fresh = await kernels.start('mixed-new', { definitions: [newSum, counter] });
    const sums = among('sum', fresh.runtime.held(), 24);
    for (const address of sums) assert.equal(await fresh.runtime.client.ask(address, 'Add', { by: 1 }), 1);
    const old = await kernels.start('mixed-old', { definitions: [oldSum, counter] });
    await heldByBoth(fresh, old);
    const isOld = (address: (typeof sums)[number]): boolean =>
      old.runtime.held().includes(partitionOf(address, layout));
    const onOld = sums.filter(isOld);
    const onNew = sums.filter((address) => !isOld(address));
    assert.ok(onOld.length > 0 && onNew.length > 0);

    // What the new node still serves goes on, asked through either node.
    for (const address of onNew) assert.equal(await old.runtime.client.ask(address, 'Add', { by: 1 }), 2);
    // What the old node now has is accepted and waits; it says why.
    const asks = onOld.map((address) => fresh.runtime.client.ask(address, 'Add', { by: 1 }, { timeoutMs: 60_000 }));
    await waitUntil('the old node says why', () =>
      old.warnings.some((warning) => warning.includes('a newer version (2) of sum wrote this actor')),
    );
    const [first] = onOld;
    assert.ok(first !== undefined);
    await assert.rejects(old.runtime.client.read(first), unavailable);
    assert.deepEqual((await fresh.runtime.client.read(first))?.state, { total: 1, turns: 1 });
    // The price: what shares its partition waits with it.
    const [neighbour] = among('counter', [partitionOf(first, layout)], 1);
    assert.ok(neighbour !== undefined);
    let isAnswered = false;
    const beside = fresh.runtime.client.ask(neighbour, 'Add', { by: 1 }, { timeoutMs: 60_000 }).then((value) => {
      isAnswered = true;
      return value;
    });
    await waitUntil(
      'its message lies in the mailbox',
      async () => (await fresh.runtime.client.mailbox(neighbour)).depth === 1,
    );
    const told = old.warnings.length;
    await waitUntil('the old node has tried again', () => old.warnings.length > told + 1, 20_000);
    assert.equal(isAnswered, false);

    await old.stop();
    assert.deepEqual(new Set(await Promise.all(asks)), new Set([2]));
    assert.equal(await beside, 1);
    for (const address of sums)
      assert.deepEqual((await fresh.runtime.client.read(address))?.state, { total: 2, turns: 2 });
    await fresh.stop();
  });

  test('a member whose card this version cannot read counts as alive, holds nothing, and harms nobody', async () => {
    const node = await kernels.start('reader', { definitions: [counter] });
    const incarnation = randomUUID();
    const card = JSON.stringify({ schema: 'of another century', role: 'emperor' });
    const stranger = { node: 'stranger', incarnation, card };
    assert.equal(await node.stores.store.announce(stranger, 60_000, true), true);
    const { members } = await waitUntil('the node sees it', async () => {
      const view = await node.placement.view();
      return view.members.length === 2 && view;
    });
    assert.equal(members.find((member) => member.node_id === 'stranger')?.card, null);
    assert.equal(node.placement.isLive('stranger'), true);
    assert.equal(node.runtime.held().length, PARTITIONS + 2, 'this node holds all partitions');
    assert.equal(await node.runtime.client.ask(addressOf('counter', 'acme', randomUUID()), 'Add', { by: 1 }), 1);
    await node.stores.store.retire('stranger', incarnation);
    await node.stop();
  });

  test('a kind that no node knows is not found, and what shares its partition goes on', async () => {
    const old = await kernels.start('kinds-old', { definitions: [counter] });
    const fresh = await kernels.start('kinds-new', { definitions: [counter, newSum] });
    await heldByBoth(fresh, old);
    const [unknown] = among('sum', old.runtime.held(), 1);
    assert.ok(unknown !== undefined);
    await assert.rejects(fresh.runtime.client.ask(unknown, 'Add', { by: 1 }), { code: 'not_found' });
    const [neighbour] = among('counter', [partitionOf(unknown, layout)], 1);
    assert.ok(neighbour !== undefined);
    assert.equal(await fresh.runtime.client.ask(neighbour, 'Add', { by: 1 }), 1);
    await Promise.all([old.stop(), fresh.stop()]);
  });
});
