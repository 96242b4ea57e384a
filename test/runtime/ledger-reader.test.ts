import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import type { SegmentRef } from '../../runtime/ledger/key-pages.ts';
import type { LedgerDelivery, LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
import { BY_TIME, readPage } from '../../runtime/ledger/reading.ts';
import { nextField } from '../../usecases/operations/schemas/traces.ts';
import { counter } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const fresh = (kind: string) => addressOf(kind, 'acme', randomUUID());

/** Null is a ledger that a node does not keep. */
function kept(ledger: LedgerReader | null): LedgerReader {
  assert.ok(ledger !== null);
  return ledger;
}

test('a delivery is found by its message, its trace and its actor, with the node that handled it', async () => {
  const node = await startKernelNode({ definitions: [counter] });
  try {
    const to = fresh('counter');
    const trace = randomUUID().replaceAll('-', '');
    const ids = [randomUUID(), randomUUID(), randomUUID()];
    for (const messageId of ids) await node.runtime.client.ask(to, 'Add', { by: 1 }, { messageId, trace });
    const ledger = kept(node.runtime.ledger);
    const [id = ''] = ids;
    await waitUntil('the deliveries in the ledger', async () => {
      return (await ledger.trace('acme', trace, { limit: 10 })).deliveries.length === 3;
    });
    const [delivery, ...others] = await ledger.message('acme', id);
    assert.deepEqual(
      [delivery?.message.to, delivery?.node, delivery?.row?.outcome, others],
      [to, 'node-a', 'done', []],
    );
    const first = await ledger.actor(to, { limit: 2 });
    const second = await ledger.actor(to, { limit: 2, after: first.next ?? '' });
    assert.deepEqual(
      [...first.deliveries, ...second.deliveries].map(({ message }) => message.id),
      ids,
    );
    assert.equal(second.next, null);
    const newest = await ledger.actor(to, { limit: 2, newestFirst: true });
    assert.deepEqual(
      newest.deliveries.map(({ message }) => message.id),
      ids.slice(1).reverse(),
    );
    const recent = await ledger.recent('acme', { limit: 2, roots: true });
    assert.deepEqual(
      recent.deliveries.map(({ message }) => message.id),
      ids.slice(1).reverse(),
    );
    assert.ok(recent.next !== null);
    const older = await ledger.recent('acme', { limit: 2, roots: true, after: recent.next });
    assert.deepEqual(
      older.deliveries.map(({ message }) => message.id),
      ids.slice(0, 1),
    );
    assert.deepEqual(await ledger.message('other', id), []);
    assert.deepEqual((await ledger.recent('other', { limit: 10 })).deliveries, []);
  } finally {
    await node.stop();
  }
});

test('the next of a list that many nodes wrote may be sent back', async () => {
  const nodes = Array.from({ length: 40 }, (_none, at) => `svc-worker-6f7c9d8b5-${at}`);
  const segments = nodes.map((writer, at) => {
    const [from, to, round] = [at * 1_000, at * 1_000 + 1, 1_795_629_600_000 + at];
    return { tenant: 'acme', id: `default:0.${at}`, last: at, from, to, writer, round };
  });
  const message = { id: 'm', to: fresh('counter'), from: null, cause: null, trace: 't', type: 'Add', payload: null };
  const deliveries = segments.map(({ from, last: seq, writer }): LedgerDelivery => {
    const shared = { partition: 'default:0', epoch: 1, row: null, body: '', effect: null } as const;
    return { ...shared, at: from, seq, node: writer, message: { ...message, origin: 'client' } };
  });
  const reader = {
    read: async (_tenant: string, refs: readonly SegmentRef[]) =>
      deliveries.filter(({ seq }) => refs.some(({ last }) => last === seq)),
  };
  const wish = { tenant: 'acme', wanted: { part: null, fits: () => true }, order: BY_TIME, limit: 10 };
  const { next } = await readPage(reader, segments, wish);
  assert.ok(next !== null && next.length > 1_000);
  assert.equal(nextField.parse(next), next);
});
