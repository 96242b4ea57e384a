import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { recordHistory, replayHistory } from '../../runtime/testing/index.ts';
import { counter } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

test('a history of own actors is kept as text, and a later version that decides differently is found', async () => {
  await using opened = new AsyncDisposableStack();
  const node = await startKernelNode({ definitions: [counter] });
  opened.defer(() => node.stop());
  const one = addressOf('counter', 'acme', randomUUID());
  // Larger than what a mailbox holds, so its message is in Blobs.
  const large = 'x'.repeat(100_000);
  for (const by of [1, 2, 3]) await node.runtime.client.ask(one, 'Add', { by });
  await node.runtime.client.ask(one, 'Fill', { text: large });
  await waitUntil('the ledger to have all', async () => {
    const { messages } = await replayHistory(await recordHistory(node.runtime, [one]), [counter]);
    return messages === 4;
  });
  const text = await recordHistory(node.runtime, [one]);
  const { difference } = await replayHistory(text, [counter]);
  assert.equal(difference, null);

  const { on } = counter;
  const later = defineActor({
    ...counter,
    on: { ...on, Add: (state, { by }, turn) => on.Add(state, { by: by === 2 ? 4 : by }, turn) },
  });
  const report = await replayHistory(text, [later]);
  assert.deepEqual(report.difference?.parts, ['state', 'events', 'messages']);
  assert.deepEqual(report.difference?.changes, [{ path: 'value', recorded: 1, replayed: 5 }]);
  assert.deepEqual(report.difference?.events, {
    recorded: [{ name: 'added', payload: { by: 2, value: 3 } }],
    replayed: [{ name: 'added', payload: { by: 4, value: 5 } }],
  });
  await assert.rejects(replayHistory(text.slice(0, -20), [counter]), { code: 'invalid_argument' });
});
