import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import { counter } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

test('a node stops although its store does not come back', async () => {
  let refused = 0;
  const node = await startKernelNode({
    definitions: [counter],
    store: () => ({
      async commit() {
        refused += 1;
        throw new SvcError('unavailable', 'the store is away');
      },
    }),
  });
  await node.runtime.client.tell(addressOf('counter', 'acme', 'one'), 'Add', { by: 1 });
  await waitUntil('a commit to be tried', () => refused > 0);
  const began = performance.now();
  await node.stop();
  assert.ok(performance.now() - began < 9_000, 'within the time a stopping node gives its store');
});
