import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readiness } from '../../cluster/operations/node-controls.ts';
import { addressOf } from '../../runtime/address.ts';
import { counter } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

const to = addressOf('counter', 'acme', 'one');

test('a held partition that is not read raises an alarm in readiness, log and status, and is acquired again until it is read', async () => {
  let blind = false;
  let grants = 0;
  const node = await startKernelNode({
    definitions: [counter],
    settings: { unreadMs: 400 },
    store: (inner) => ({
      poll: async (asks, limit) => (blind ? asks.map(() => []) : inner.poll(asks, limit)),
      async acquire(...asked) {
        grants += 1;
        return inner.acquire(...asked);
      },
    }),
  });
  const ready = () => readiness(node.runtime, { draining: false }, { refusal: () => null });
  try {
    await node.runtime.client.ask(to, 'Add', { by: 1 });
    assert.deepEqual([ready(), node.runtime.unread()], [{ ready: true }, []]);
    blind = true;
    const before = grants;
    await node.runtime.client.tell(to, 'Add', { by: 1 });
    await waitUntil('the alarm', () => node.runtime.unread().length > 0);
    assert.deepEqual(ready(), { ready: false, why: 'messages wait unread in 1 partition' });
    assert.deepEqual(node.runtime.unread(), ['default:0']);
    await waitUntil('it was taken anew, again and again', () => grants >= before + 2);
    blind = false;
    await waitUntil('the alarm is over', () => node.runtime.unread().length === 0);
    assert.deepEqual(ready(), { ready: true });
    assert.equal(await node.runtime.client.ask(to, 'Add', { by: 1 }), 3);
    const lines = node.warnings.filter((line) => line.includes('alarm')).map((line) => line.split(':')[0]);
    assert.deepEqual(lines, ['alarm', 'the alarm is over'], node.warnings.join('\n'));
  } finally {
    await node.stop();
  }
});

test('a mailbox that makes progress raises no alarm, however long that takes', async () => {
  const slow = Promise.withResolvers<void>();
  let hold = false;
  let looks = 0;
  const node = await startKernelNode({
    definitions: [counter],
    settings: { unreadMs: 200 },
    store: (inner) => ({
      async commit(commit, readAhead) {
        if (hold) await slow.promise;
        return inner.commit(commit, readAhead);
      },
      async backlog(partition) {
        if (partition === 'default:0') looks += 1;
        return inner.backlog(partition);
      },
    }),
  });
  try {
    hold = true;
    await node.runtime.client.tell(to, 'Add', { by: 1 });
    const before = looks;
    await waitUntil('many looks', () => looks > before + 8);
    assert.deepEqual(node.runtime.unread(), []);
  } finally {
    slow.resolve();
    await node.stop();
  }
});
