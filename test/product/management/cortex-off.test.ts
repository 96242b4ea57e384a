import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManagementNode } from './management-node.ts';
import { sameAnswer } from './same-answer.ts';

test('searches of a node without memory fail with the message Cortex not configured over every interface', async () => {
  await using node = await ManagementNode.start({ spec: { cortex: { enabled: false } } });
  for (const tool of ['svc.agent.search', 'svc.workflow.search']) {
    const calls = await Promise.all(node.clients.map((client) => client.call(tool, { query: 'anything' })));
    for (const { isError, text, reason } of calls)
      assert.deepEqual([isError, text, reason], [true, 'Cortex not configured', undefined]);
    sameAnswer(calls);
  }
});
