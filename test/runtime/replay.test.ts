import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { Address } from '../../runtime/address.ts';
import { addressOf } from '../../runtime/address.ts';
import type { Blobs } from '../../runtime/blobs.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';
import { decodeRecord } from '../../runtime/turns/record.ts';
import { type LedgerLine, replayActor } from '../../runtime/turns/replay.ts';
import { readLedger } from '../contract/actor-lines.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const retry = { maxAttempts: 3, initialDelayMs: 5, maxDelayMs: 20 };
const noBlobs: Blobs = {
  open: async () => {},
  close: async () => {},
  put: () => Promise.reject(new Error('nothing here is large')),
  get: () => Promise.reject(new Error('nothing here is large')),
  delete: () => Promise.reject(new Error('nothing here is large')),
  deleteOwned: () => Promise.reject(new Error('nothing here is large')),
};
const payloads = createPayloads(noBlobs);

test('an actor replayed from the ledger has the stored record and events, at any message', async () => {
  const node = await startKernelNode({
    definitions: [counter, job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    settings: { retry },
  });
  try {
    const { client } = node.runtime;
    const one = addressOf('counter', 'acme', randomUUID());
    const other = addressOf('counter', 'acme', randomUUID());
    await client.ask(one, 'Add', { by: 1 });
    await client.ask(one, 'AddLater', { by: 5, afterMs: 10 });
    await client.ask(one, 'Forward', { to: other.split('/')[2] ?? '', by: 7 });
    await client.ask(one, 'Refuse', {}).catch(() => undefined);
    const broken = client.ask(one, 'Break', { times: 1 }).catch(() => undefined);
    await Promise.all(Array.from({ length: 30 }, () => client.ask(one, 'Add', { by: 2 })));
    await broken;
    await client.ask(other, 'AddLater', { by: 3, afterMs: 3_600_000 });
    const work = addressOf('job', 'acme', randomUUID());
    await client.ask(work, 'Run', { input: { waitForAbort: true, value: 1 } });
    await waitUntil('the timer and the answer', async () => {
      const state = counter.state.safeParse((await client.read(one))?.state).data;
      return state?.value === 66 && state.asks === 102;
    });

    const lines = async (address: Address, last: number): Promise<LedgerLine[]> => {
      const actor = { tenant: 'acme', address, partition: 'default:0' } as const;
      return waitUntil(`the ledger up to ${last}`, async () => {
        const found: LedgerLine[] = [];
        for await (const line of readLedger(node.documents, payloads, actor)) found.push(line);
        return found.length >= last ? found : null;
      });
    };
    // 1 Add, 1 AddLater, 1 Forward, 1 Refuse, 1 Break, 30 Add, 1 timer, 1 answer and 2 retries.
    const ofOne = await lines(one, 39);
    for (const [address, definition, found] of [
      [one, counter, ofOne],
      [other, counter, await lines(other, 2)],
      [work, job, await lines(work, 1)],
    ] as const) {
      const [text = null] = await node.store.load('default:0', [address]);
      const replayed = await replayActor(definition, address, found, { retry });
      assert.deepEqual(replayed.record, decodeRecord(definition, text ?? ''), address);
      assert.deepEqual(replayed.events, await client.events(address, 0, 1_000), address);
      assert.equal(replayed.difference, null, address);
      assert.ok(replayed.compared > 0, address);
    }
    const third = await replayActor(counter, one, ofOne, { retry, upTo: ofOne[2]?.seq ?? 0 });
    assert.deepEqual([third.record.revision, third.events.length], [3, 1]);
  } finally {
    await node.stop();
  }
});
