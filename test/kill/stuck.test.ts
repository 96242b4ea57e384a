import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { StoredDocument } from '../../runtime/documents.ts';
import { unpackLines } from '../../runtime/ledger/packing.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { KillNodeHandle } from '../support/kill-node-handle.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type KillStores, type StoreKind, startStores, storesMissing } from './stores.ts';

const kinds: readonly StoreKind[] = ['sqlite', 'redis'];

for (const kind of kinds) {
  const skip = storesMissing(kind);
  test(`a message that keeps failing is dead-lettered once although its node is killed twice (${kind})`, {
    skip,
    timeout: 300_000,
  }, async () => {
    const stores = await startStores(kind);
    let node = await KillNodeHandle.start(stores.location);
    try {
      const broken = addressOf('counter', 'acme', randomUUID());
      await node.ask(broken, 'Add', { by: 1 });
      await node.tell(broken, 'Break', { times: 1 });
      await node.tell(broken, 'Add', { by: 1 });
      for (const attempts of [1, 3]) {
        await stuckAt(node, broken, attempts);
        await node.end('SIGKILL');
        node = await KillNodeHandle.start(stores.location);
      }
      await waitUntil('the message behind the broken one', async () => {
        const snapshot = await node.read(broken);
        return snapshot !== null && snapshot.stuck === null;
      });
      assert.deepEqual(await node.ask(broken, 'Get', {}), { value: 2, asks: 0, blob: 0 });
      await node.end('SIGTERM');
      const { letters, outcomes } = await recordOf(stores, broken);
      assert.equal(letters, 1);
      assert.equal(outcomes.filter((one) => one === 'retried').length, 4, 'attempts are counted over kills');
      assert.equal(outcomes.filter((one) => one === 'dead-lettered').length, 1);
    } finally {
      await node.end('SIGKILL');
      await stores.destroy();
    }
  });
}

async function stuckAt(node: KillNodeHandle, address: Address, attempts: number): Promise<void> {
  await waitUntil(`${attempts} failed attempts`, async () => {
    const snapshot = await node.read(address);
    return (snapshot?.stuck?.attempts ?? 0) >= attempts;
  });
}

interface Row {
  readonly outcome: string;
  readonly drained?: readonly { readonly outcome: string }[];
}
type Line = readonly [seq: number, at: number, epoch: number, row: Row, body: string];

/** Dead letters, and the outcome of every delivery of the one partition in use. */
async function recordOf(stores: KillStores, address: Address): Promise<{ letters: number; outcomes: string[] }> {
  const ports = await openStores({ ...stores.location, warn: console.error });
  try {
    const specs = ['dead_letters', 'ledger'].map((name) => ({ name, unique: [], indexes: [] }));
    const [dead, ledger] = await Promise.all(
      specs.map((spec) => ports.documents.collection<StoredDocument & { readonly lines?: string }>(spec)),
    );
    const letters = (await dead?.count({ tenant: 'acme', where: { address } })) ?? 0;
    const segments = (await ledger?.find({ tenant: 'acme', sort: [['id', 'asc']], limit: 1_000 })) ?? [];
    const rows = new Map<number, Row>();
    for (const segment of segments) {
      const lines: Line[] = JSON.parse(await unpackLines(segment.lines ?? '[]'));
      for (const [seq, , , row] of lines) rows.set(seq, row);
    }
    const outcomes = [...rows.values()].flatMap((row) => [
      row.outcome,
      ...(row.drained ?? []).map((drained) => drained.outcome),
    ]);
    return { letters, outcomes };
  } finally {
    await ports.close();
  }
}
