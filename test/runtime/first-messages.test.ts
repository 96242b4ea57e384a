import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { CallOptions } from '../../runtime/client.ts';
import type { Documents } from '../../runtime/documents.ts';
import { ARCHIVED_ACTORS } from '../../runtime/projection/archive.ts';
import { job, workEffect } from '../support/actors.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';
import { checkedDocuments } from '../support/over-documents.ts';

/** Documents whose archive notes which records were asked for. */
const noting =
  (asked: string[]) =>
  (inner: Documents): Documents =>
    checkedDocuments(inner, (method, { name }) => {
      if (name === ARCHIVED_ACTORS.name && method === 'get') asked.push('get');
    });

/** Where the node looks for an actor that gets a message. */
async function looksFor(options: CallOptions, tailAtGrant?: number): Promise<readonly ('store' | 'archive')[]> {
  const asked: string[] = [];
  const loaded: Address[] = [];
  const node: KernelNode = await startKernelNode({
    definitions: [job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    documents: noting(asked),
    store: (inner) => ({
      async acquire(...args) {
        const outcome = await inner.acquire(...args);
        return outcome.kind === 'granted' && tailAtGrant !== undefined ? { ...outcome, tail: tailAtGrant } : outcome;
      },
      load(partition, addresses) {
        loaded.push(...addresses);
        return inner.load(partition, addresses);
      },
    }),
  });
  try {
    const before = asked.length;
    const to = addressOf('job', 'acme', randomUUID());
    await node.runtime.client.ask(to, 'Run', { input: { hold: true } }, options);
    return [
      ...(loaded.includes(to) ? (['store'] as const) : []),
      ...(asked.length > before ? (['archive'] as const) : []),
    ];
  } finally {
    await node.stop();
  }
}

describe('the first message of an actor whose id was drawn for it', () => {
  it('waits for neither store nor archive', async () => {
    assert.deepEqual(await looksFor({ isFirst: true }), []);
  });

  it('asks both when its id is the caller’s: an earlier copy may have been handled', async () => {
    assert.deepEqual(await looksFor({ isFirst: true, messageId: randomUUID() }), ['store', 'archive']);
    assert.deepEqual(await looksFor({}), ['store', 'archive']);
  });

  it('asks both when it was there before the partition was taken: the store may have gone back', async () => {
    assert.deepEqual(await looksFor({ isFirst: true }, 1_000), ['store', 'archive']);
  });
});
