import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { clientOf, ended, request } from '../transport/grpc/call.ts';
import { type Answer, agentYaml, ProductNode } from './product-node.ts';
import { DONE, workflowText } from './tenant-objects.ts';

const THEN = [{ condition: 'on_success', target: 'done' }];
const YAML = { 'content-type': 'application/yaml' };

describe('agents and workflows that are paused, archived or in use', () => {
  let node: ProductNode;
  let agent = '';
  before(async () => {
    node = await ProductNode.start();
    agent = await node.deploy(agentYaml('worker'));
    const states = {
      ask: { kind: 'Agent', agent: 'worker', input: 'quick', transitions: THEN },
      done: DONE,
    };
    for (const [name, text] of [
      ['parent', workflowText('parent', states)],
      ['child', workflowText('child', { done: DONE })],
      [
        'outer',
        workflowText('outer', { in: { kind: 'Subworkflow', workflow_id: 'child', transitions: THEN }, done: DONE }),
      ],
    ] as const)
      assert.equal((await node.call('POST', '/v1/workflows', { body: text, headers: YAML })).status, 200, name);
    await node.json('PUT', '/v1/stimuli/routes/bell', { workflow: 'child' });
  });
  after(() => node[Symbol.asyncDispose]());

  const setStatus = async (path: string, status: string): Promise<void> => {
    const answer = await node.json('PATCH', path, { status });
    assert.deepEqual([answer.status, answer.body.status], [200, status], answer.text);
  };
  const refusedAs = (answer: Answer, status: string): void => {
    assert.equal(answer.status, 409, answer.text);
    assert.match(answer.text, new RegExp(`is ${status}`));
  };
  const runEnded = async (started: Answer): Promise<Answer['body']> => {
    assert.equal(started.status, 200, started.text);
    return waitUntil('the run to end', async () => {
      const { body } = await node.call('GET', `/v1/workflows/executions/${String(started.body.execution_id)}`);
      return ['completed', 'failed'].includes(String(body.status)) && body;
    });
  };
  const grpcStart = async (): Promise<string> => {
    const client = clientOf(await node.process.grpcAddress);
    try {
      const { code, status } = await ended(client.executeAgent(request(agent, 'quick')));
      return `${code} ${status.details}`;
    } finally {
      client.close();
    }
  };

  for (const status of ['paused', 'archived'])
    test(`an agent that is ${status} cannot be started by any interface, and by every interface once it is resumed`, async () => {
      await setStatus(`/v1/agents/${agent}`, status);
      refusedAs(await node.json('POST', '/v1/executions', { agent_id: agent, input: 'quick' }), status);
      refusedAs(await node.json('POST', `/v1/agents/${agent}/execute`, { intent: 'quick' }), status);
      assert.match(await grpcStart(), new RegExp(`^FAILED_PRECONDITION .*worker is ${status}`));
      const failed = await runEnded(await node.json('POST', '/v1/workflows/parent/run', {}));
      assert.deepEqual([failed.status, failed.current_state], ['failed', 'ask'], JSON.stringify(failed));
      assert.match(JSON.stringify(failed.error), new RegExp(`worker is ${status}`));
      await setStatus(`/v1/agents/${agent}`, 'deployed');
      for (const path of ['/v1/executions', `/v1/agents/${agent}/execute`]) {
        const body =
          path === '/v1/executions' ? { agent_id: agent, input: 'quick' } : { intent: 'quick', input: { a: 1 } };
        assert.equal((await node.json('POST', path, body)).status, 200);
      }
      assert.match(await grpcStart(), /^OK/);
      assert.equal((await runEnded(await node.json('POST', '/v1/workflows/parent/run', {}))).status, 'completed');
    });

  for (const status of ['paused', 'archived'])
    test(`a workflow that is ${status} cannot be started by any interface, and by every interface once it is resumed`, async () => {
      await setStatus('/v1/workflows/child', status);
      refusedAs(await node.json('POST', '/v1/workflows/child/run', {}), status);
      const failed = await runEnded(await node.json('POST', '/v1/workflows/outer/run', {}));
      assert.deepEqual([failed.status, failed.current_state], ['failed', 'in'], JSON.stringify(failed));
      assert.match(JSON.stringify(failed.error), new RegExp(`child is ${status}`));
      const rung = await node.json('POST', '/v1/stimuli', { source: 'bell', content: status });
      assert.ok(rung.status >= 400, rung.text);
      await setStatus('/v1/workflows/child', 'deployed');
      assert.equal((await node.json('POST', '/v1/workflows/child/run', {})).status, 200);
      assert.equal((await runEnded(await node.json('POST', '/v1/workflows/outer/run', {}))).status, 'completed');
      const again = await node.json('POST', '/v1/stimuli', { source: 'bell', content: `${status} no more` });
      assert.equal(again.status, 200, again.text);
    });

  test('a repeated start finds its first run although the agent was paused since', async () => {
    const headers = { 'idempotency-key': 'before-the-pause' };
    const first = await node.json('POST', '/v1/executions', { agent_id: agent, input: 'quick' }, headers);
    await setStatus(`/v1/agents/${agent}`, 'paused');
    const second = await node.json('POST', '/v1/executions', { agent_id: agent, input: 'quick' }, headers);
    await setStatus(`/v1/agents/${agent}`, 'deployed');
    assert.deepEqual([second.status, second.body.execution_id], [200, first.body.execution_id]);
  });

  test('an agent with a running execution is deleted only by force, and the execution continues', async () => {
    const busy = await node.deploy(agentYaml('busy'));
    const id = await node.run(busy, 'slow');
    const isListed = async (): Promise<boolean> => {
      const { body } = await node.call('GET', `/v1/executions?agent_id=${busy}`);
      return JSON.stringify(body).includes(id);
    };
    await waitUntil('the execution to be listed', isListed);
    const refused = await node.call('DELETE', `/v1/agents/${busy}`);
    assert.deepEqual([refused.status, /1 execution is running/.test(refused.text)], [409, true], refused.text);
    assert.equal((await node.call('DELETE', `/v1/agents/${busy}?force=true`)).status, 200);
    assert.equal((await node.call('GET', `/v1/agents/${busy}`)).status, 404);
    const done = await waitUntil(
      'the execution to end',
      async () => {
        const { status } = await node.statusOf(id);
        return status !== 'running' && status;
      },
      30_000,
    );
    assert.equal(done, 'completed');
  });

  test('a workflow with a waiting run is deleted only by force', async () => {
    const gate = { kind: 'Human', prompt: 'go on?', transitions: [{ target: 'done' }] };
    await node.runWorkflow(workflowText('waits', { gate, done: DONE }));
    await waitUntil('the run to be listed', async () => {
      const { body } = await node.call('GET', '/v1/workflows/executions?workflow_id=waits');
      return body.total === 1;
    });
    assert.equal((await node.call('DELETE', '/v1/workflows/waits')).status, 409);
    assert.equal((await node.call('DELETE', '/v1/workflows/waits?force')).status, 200);
  });

  test('an agent is deployed in a scope, listed by scope and status, promoted and demoted, and its log has each change', async () => {
    const deployed = await node.call('POST', '/v1/agents?scope=user', { body: agentYaml('climber'), headers: YAML });
    const id = String(deployed.body.agent_id);
    const scopes = async (): Promise<unknown> => (await node.call('GET', `/v1/agents/${id}`)).body.scope;
    assert.equal(await scopes(), 'user');
    const up = await node.json('POST', `/v1/agents/${id}/scope`, { action: 'promote', target_scope: 'tenant' });
    assert.deepEqual(up.body, { agent_id: id, name: 'climber', promoted: true, target_scope: 'tenant' });
    assert.equal((await node.json('POST', `/v1/agents/${id}/scope`, { action: 'promote' })).status, 200);
    assert.equal(await scopes(), 'global');
    const names = async (query: string): Promise<string> => (await node.call('GET', `/v1/agents${query}`)).text;
    assert.match(await names('?scope=global'), /climber/);
    assert.match(await names('?scope=global'), /code-quality-judge/);
    await setStatus(`/v1/agents/${id}`, 'archived');
    assert.doesNotMatch(await names('?scope=visible'), /climber/);
    assert.match(await names('?scope=visible&status=archived'), /climber/);
    const wrong = await node.json('POST', `/v1/agents/${id}/scope`, { action: 'demote', target_scope: 'user' });
    assert.deepEqual([wrong.status, /in scope global, not tenant/.test(wrong.text)], [409, true], wrong.text);
    const { body } = await node.call('GET', `/v1/agents/${id}/logs`);
    assert.deepEqual(
      JSON.stringify(body.events)
        .match(/"event_type":"\w+"/g)
        ?.map((text) => text.slice(14, -1)),
      ['AgentDeployed', 'AgentScopeChanged', 'AgentScopeChanged', 'AgentArchived'],
    );
  });
});
