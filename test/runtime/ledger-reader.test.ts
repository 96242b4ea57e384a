import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import type { LedgerReader } from '../../runtime/ledger/ledger-reader.ts';
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
