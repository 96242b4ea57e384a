import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import type { CallOptions } from '../../runtime/client.ts';
import type { CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { ARCHIVED_ACTORS } from '../../runtime/projection/archive.ts';
import { job, workEffect } from '../support/actors.ts';
import { type KernelNode, startKernelNode } from '../support/kernel-node.ts';

/** Documents whose archive notes which records were asked for. */
const noting =
  (asked: string[]) =>
  (inner: Documents): Documents => ({
    open: () => inner.open(),
    close: () => inner.close(),
    async collection<T extends StoredDocument>(spec: CollectionSpec) {
      const collection = await inner.collection<T>(spec);
      if (spec.name !== ARCHIVED_ACTORS.name) return collection;
      return new Proxy(collection, {
        get(target, name) {
          if (name === 'get') asked.push('get');
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  });

async function archiveAsks(options: CallOptions, tailAtGrant?: number): Promise<number> {
  const asked: string[] = [];
  const node: KernelNode = await startKernelNode({
    definitions: [job],
    handlers: [workEffect({ begun: [], aborted: [] })],
    documents: noting(asked),
    store: (inner) => ({
      async acquire(...args) {
        const outcome = await inner.acquire(...args);
        return outcome.kind === 'granted' && tailAtGrant !== undefined ? { ...outcome, tail: tailAtGrant } : outcome;
      },
    }),
  });
  try {
    const before = asked.length;
    await node.runtime.client.ask(addressOf('job', 'acme', randomUUID()), 'Run', { input: { hold: true } }, options);
    return asked.length - before;
  } finally {
    await node.stop();
  }
}

describe('the first message of an actor whose id was drawn for it', () => {
  it('does not wait for the archive', async () => {
    assert.equal(await archiveAsks({ isFirst: true }), 0);
  });

  it('asks the archive when its id is the caller’s: an earlier copy may have been handled', async () => {
    assert.equal(await archiveAsks({ isFirst: true, messageId: randomUUID() }), 1);
    assert.equal(await archiveAsks({}), 1);
  });

  it('asks the archive when it was there before the partition was taken: the store may have gone back', async () => {
    assert.equal(await archiveAsks({ isFirst: true }, 1_000), 1);
  });
});
