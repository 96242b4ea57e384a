import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { agentYaml } from '../product-node.ts';
import { ManagementNode, type ToolClient } from './management-node.ts';

const PLACES = 12;
const WAITERS = 240;

describe('callers that wait for an end', () => {
  let node: ManagementNode;
  let client: ToolClient;
  before(async () => {
    node = await ManagementNode.start({ spec: { kernel: { effect_concurrency: PLACES } } });
    client = node.clients.find(({ name }) => name === '/mcp') ?? assert.fail();
  });
  after(() => node[Symbol.asyncDispose]());

  test(`${WAITERS} waiting callers on a node with ${PLACES} places block no work, and all get the end`, async () => {
    const { agent_id } = (await client.call('svc.agent.create', { manifest_yaml: agentYaml('sleeper') })).structured;
    const executions: unknown[] = [];
    for (const intent of ['sleepy one', 'sleepy two', 'sleepy three']) {
      executions.push((await client.call('svc.task.execute', { agent_id, intent })).structured.execution_id);
    }
    const waiting = Array.from({ length: WAITERS }, (_one, index) =>
      client.call('svc.task.wait', { execution_id: executions[index % executions.length], timeout_seconds: 120 }),
    );
    // Answered only after the earlier calls got a place and freed it.
    for (let look = 0; look < 2 * PLACES; look += 1) {
      const { isError, text } = await client.call('svc.agent.list', {});
      assert.equal(isError, false, text);
    }
    const quick = (await client.call('svc.task.execute', { agent_id, intent: 'quick' })).structured.execution_id;
    assert.equal((await client.call('svc.task.wait', { execution_id: quick })).structured.status, 'completed');
    for (const execution_id of executions) await client.call('svc.task.cancel', { execution_id });
    const answers = await Promise.all(waiting);
    assert.deepEqual([...new Set(answers.map(({ structured }) => structured.status))], ['cancelled']);
  });
});
