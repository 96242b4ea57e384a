import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ManagementNode, managementNode } from './management-node.ts';
import { Setting } from './setting.ts';

describe('svc.workflow.create', () => {
  let managed: ManagementNode;
  let at: Setting;
  before(async () => {
    managed = await managementNode();
    at = new Setting((tool, args) => managed.ok(tool, JSON.parse(JSON.stringify(args))), 'acme');
  });
  after(() => managed[Symbol.asyncDispose]());

  test('reports the answer of every judge when one refuses, and registers nothing', async () => {
    const name = at.name();
    await at.ok('svc.agent.create', { manifest_yaml: at.agentYaml('strict-judge') });
    const outcome = await managed.call('svc.workflow.create', {
      ...{ manifest_yaml: at.workflowYaml(name), task_context: 'refuse this' },
      judge_agents: ['code-quality-judge', 'strict-judge', 'strict-judge'],
    });
    assert.equal(outcome.error?.code, 'validation_failed');
    const { deployed, validation_results: results } = outcome.structured ?? {};
    assert.equal(deployed, false);
    assert.ok(Array.isArray(results));
    assert.equal(results.length, 2, 'a judge that is named twice is asked once');
    const gone = await managed.call('svc.workflow.export', { name });
    assert.equal(gone.error?.code, 'not_found');
  });

  test('does not overwrite a version that was deployed while judges were running', async () => {
    const name = at.name();
    const creates = Array.from({ length: 5 }, (_one, index) => {
      const manifest_yaml = at.workflowYaml(name, '1.0.0', { description: `number ${index}` });
      return managed.call('svc.workflow.create', { manifest_yaml });
    });
    const outcomes = await Promise.all(creates);
    assert.deepEqual(outcomes.map(({ error }) => error?.code ?? 'deployed').toSorted(), [
      'conflict',
      'conflict',
      'conflict',
      'conflict',
      'deployed',
    ]);
    const winner = outcomes.findIndex(({ is_error }) => !is_error);
    const { manifest_yaml } = await at.ok('svc.workflow.export', { name });
    assert.match(String(manifest_yaml), new RegExp(`number ${winner}`));
  });

  test('a judge that does not answer in JSON gives no verdict, so nothing is registered', async () => {
    const name = at.name();
    const manifest = at.agentYaml('mute-judge').replace('{{input}}', 'say hello');
    await at.ok('svc.agent.create', { manifest_yaml: manifest });
    const outcome = await managed.call('svc.workflow.create', {
      ...{ manifest_yaml: at.workflowYaml(name), judge_agents: ['code-quality-judge', 'mute-judge'] },
    });
    assert.equal(outcome.error?.code, 'failed_precondition', JSON.stringify(outcome));
    assert.equal((await managed.call('svc.workflow.export', { name })).error?.code, 'not_found');
  });
});
