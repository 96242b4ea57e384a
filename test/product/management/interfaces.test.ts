import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { agentYaml } from '../product-node.ts';
import { ManagementNode } from './management-node.ts';

describe('management tools on a node', () => {
  let at: ManagementNode;
  before(async () => {
    at = await ManagementNode.start();
  });
  after(() => at[Symbol.asyncDispose]());

  test('an agent is deployed, listed, run and waited for over every interface', async () => {
    for (const [index, client] of at.clients.entries()) {
      const name = `worker-${index}`;
      const created = await client.call('svc.agent.create', { manifest_yaml: agentYaml(name) });
      assert.deepEqual([created.isError, created.structured.deployed], [false, true], created.text);
      const { agent_id } = created.structured;
      const again = await client.call('svc.agent.create', { manifest_yaml: agentYaml(name) });
      assert.equal(again.isError, true);
      assert.match(again.text, /^conflict: /);

      const { agents } = (await client.call('svc.agent.list', {})).structured;
      assert.ok(Array.isArray(agents));
      assert.ok(agents.some(({ id }) => id === agent_id));

      const started = await client.call('svc.task.execute', { agent_id, intent: 'sleepy' });
      assert.equal(started.structured.status, 'started', started.text);
      const { execution_id } = started.structured;
      const waited = await client.call('svc.task.wait', { execution_id, timeout_seconds: 1 });
      assert.deepEqual([waited.structured.status, waited.structured.execution_id], ['timed_out', execution_id]);
      const status = await client.call('svc.task.status', { execution_id });
      assert.equal(status.structured.status, 'running', status.text);
      const wait = client.call('svc.task.wait', { execution_id });
      assert.equal((await client.call('svc.task.cancel', { execution_id })).structured.cancelled, true);
      assert.equal((await wait).structured.status, 'cancelled');
    }
  });

  test('an unknown execution is not found, and a malformed id is invalid, over every interface', async () => {
    for (const client of at.clients) {
      const missing = await client.call('svc.task.wait', { execution_id: crypto.randomUUID() });
      assert.deepEqual([missing.isError, missing.text], [true, 'not_found: execution not found'], client.name);
      const wrong = await client.call('svc.task.status', { execution_id: 'x' });
      assert.deepEqual([wrong.isError, wrong.reason], [undefined, 'InvalidArguments'], client.name);
    }
  });
});
