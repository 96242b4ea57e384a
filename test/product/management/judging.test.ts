import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import type { Setting } from '../../tools/management/setting.ts';
import { ManagementNode, type ToolClient } from './management-node.ts';
import { settingOf } from './row-call.ts';

describe('svc.workflow.create on a node', () => {
  let node: ManagementNode;
  /** It finds the node again after a restart. */
  let client: ToolClient;
  let at: Setting;
  before(async () => {
    node = await ManagementNode.start();
    client = node.clients.find(({ name }) => name === '/mcp') ?? assert.fail();
    at = settingOf(client, 'svc-system');
  });
  after(() => node[Symbol.asyncDispose]());

  const textOf = async (name: string): Promise<unknown> => (await at.ok('svc.workflow.export', { name })).manifest_yaml;

  test('a refusal by a judge leaves the deployed version unchanged, also with force, over every interface', async () => {
    const { name } = await at.workflow();
    const deployed = await textOf(name);
    const manifest_yaml = at.workflowYaml(name, '1.0.0', { description: 'is another' });
    const refused = { manifest_yaml, force: true, task_context: 'refuse this' };
    for (const one of node.clients) {
      const { isError, text, structured } = await one.call('svc.workflow.create', refused);
      assert.equal(isError, true, one.name);
      assert.match(text, /^validation_failed: not deployed: .*\n.* refuses it \(score 0\.4/s, one.name);
      assert.equal(structured.deployed, false, one.name);
      assert.equal(await textOf(name), deployed, one.name);
    }
  });

  test('of two concurrent calls the one that a judge refuses registers nothing', async () => {
    const name = at.name();
    const calls = node.clients.map((one, index) =>
      one.call('svc.workflow.create', {
        manifest_yaml: at.workflowYaml(name, '1.0.0', { description: `number ${index}` }),
        task_context: index === 1 ? 'a test' : 'refuse this',
      }),
    );
    assert.deepEqual(
      (await Promise.all(calls)).map(({ isError }) => isError),
      [true, false, true],
    );
    assert.match(String(await textOf(name)), /number 1/);
  });

  test('a judge that is paused judges nothing, and nothing is registered', async () => {
    const name = at.name();
    const { agent_id } = await at.agent('resting-judge');
    const paused = await node.at.node.json('PATCH', `/v1/agents/${agent_id}`, { status: 'paused' });
    assert.equal(paused.status, 200, paused.text);
    for (const one of node.clients) {
      const args = { manifest_yaml: at.workflowYaml(name), judge_agents: ['code-quality-judge', 'resting-judge'] };
      const { isError, text } = await one.call('svc.workflow.create', args);
      assert.equal(isError, true, one.name);
      assert.match(text, /^failed_precondition: .*resting-judge.*paused/s, one.name);
    }
    const gone = await client.call('svc.workflow.export', { name });
    assert.equal(gone.text, 'not_found: workflow not found');
  });

  test('a node that dies while a judge runs has registered nothing, and the restarted node deploys the same', async () => {
    const name = at.name();
    const { agent_id } = await at.agent('slow-judge');
    const manifest_yaml = at.workflowYaml(name);
    const args = { manifest_yaml, task_context: 'sleepy', judge_agents: ['slow-judge'] };
    const lost = assert.rejects(client.call('svc.workflow.create', args));
    await waitUntil('the judge thinks', async () => {
      const { executions } = await at.ok('svc.task.list', { agent_id });
      return JSON.stringify(executions).includes('"running"');
    });
    await node.at.node.process.kill('SIGKILL');
    await lost;
    await node.at.node.spawn();
    const before = await client.call('svc.workflow.export', { name });
    assert.equal(before.text, 'not_found: workflow not found');
    const created = await at.ok('svc.workflow.create', { manifest_yaml, task_context: 'a test' });
    assert.equal(created.deployed, true);
    assert.equal(await textOf(name), manifest_yaml);
  });
});
