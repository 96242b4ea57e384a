import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { CliNode } from './cli-node.ts';

const WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: one-step, version: 1.0.0 }
spec:
  initial_state: only
  states:
    only: { kind: System, command: update_blackboard, env: { a: b }, transitions: [] }
`;

describe('commands over the tools of the node, runs of agents and workflows', () => {
  let setup: CliNode;
  before(async () => {
    setup = await CliNode.open();
    await writeFile(setup.file('flow.yaml'), WORKFLOW);
    assert.equal((await setup.svc(['workflow', 'deploy', setup.file('flow.yaml')])).code, 0);
  });
  after(() => setup.close());

  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await setup.svc([...args, '--output', 'json']);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };

  test('svc system shows the node, and its configuration as a document', async () => {
    assert.equal((await json('system', 'info')).status, 'healthy');
    const { stdout } = await setup.svc(['system', 'config']);
    assert.match(stdout, /^apiVersion: svc\.dev\/v1\nkind: NodeConfig\n/);
    assert.equal((await json('system', 'config')).config_path, setup.file('svc.yaml'));
  });

  test('svc runtime list shows the table', async () => {
    assert.match((await setup.svc(['runtime', 'list'])).stdout, /^LANGUAGE +VERSION +DEPRECATED +IMAGE +DESCRIPTION\n/);
    const some: { version: string }[] = await json('runtime', 'list', '--language', 'rust');
    assert.deepEqual(some.map(({ version }) => version).slice(0, 2), ['1.74', '1.75']);
  });

  test('svc schema prints a schema, and says line by line what is wrong with a manifest', async () => {
    assert.equal(JSON.parse((await setup.svc(['schema', 'get', 'agent'])).stdout).title, 'Agent manifest v1');
    assert.equal((await setup.svc(['schema', 'get', 'poem'])).code, 2);
    const right = await setup.svc(['schema', 'validate', 'workflow', setup.file('flow.yaml')]);
    assert.deepEqual([right.code, right.stdout], [0, 'valid\n'], right.stderr);
    const wrong = await setup.svc(['schema', 'validate', 'workflow', '-'], WORKFLOW.replace('initial_state: only', ''));
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /the workflow manifest is not valid\n {2}\S.*:\d+:\d+: spec\.initial_state: /);
  });

  test('svc agent run starts an execution from a goal and values', async () => {
    const run = await setup.svc(['agent', 'run', 'echo', 'do it', '--input', '{"a": 1}', '--wait', '--output', 'json']);
    assert.equal(run.code, 0, run.stderr);
    assert.equal(JSON.parse(run.stdout).status, 'completed');
    assert.equal((await setup.svc(['agent', 'run', 'nobody'])).code, 1);
  });

  test('svc workflow executions lists runs and shows one; svc workflow remove forgets it', async () => {
    const { code, stderr } = await setup.svc(['workflow', 'run', 'one-step', '--wait']);
    assert.equal(code, 0, stderr);
    const runs: { execution_id: string; status: string }[] = await json(
      ...['workflow', 'executions', 'list', '--workflow', 'one-step', '--status', 'completed', '--limit', '5'],
    );
    const [{ execution_id } = { execution_id: '' }] = runs;
    assert.equal(runs.length, 1);
    assert.equal((await json('workflow', 'executions', 'get', execution_id)).blackboard.a, 'b');
    assert.deepEqual(await setup.svc(['workflow', 'remove', execution_id]), {
      ...{ code: 0, stdout: `removed workflow execution ${execution_id}\n`, stderr: '' },
    });
    assert.equal((await setup.svc(['workflow', 'executions', 'get', execution_id])).code, 1);
    assert.equal((await setup.svc(['workflow', 'executions', 'list', '--offset', '-1'])).code, 2);
  });
});
