import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode } from './product-node.ts';
import { type CallerName, Realms } from './realms.ts';

const SECRET = 'HIDDEN-value-of-a-key';

const flow = (agent: string): string => `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: calls-${agent}, version: 1.0.0 }
spec:
  initial_state: ask
  states:
    ask: { kind: Agent, agent: ${agent}, input: hello, transitions: [] }
`;

describe('reports of a node about itself, and the callers that get them', () => {
  let realms: Realms;
  let node: ProductNode;
  before(async () => {
    realms = await Realms.open();
    const web = { search: { provider: 'brave', api_key: `literal:${SECRET}` } };
    node = await ProductNode.start({ spec: { ...realms.spec, web } });
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });

  const call = async (as: CallerName, tool: string, args: object = {}) =>
    node.json('POST', `/v1/tools/${tool}`, args, await realms.headers(as));

  test('svc.system.* answers operators only; for all other callers these tools do not exist', async () => {
    for (const tool of ['svc.system.info', 'svc.system.config']) {
      assert.equal((await call('operator', tool)).status, 200);
      for (const as of ['service', 'serviceForAlpha', 'alphaAdmin', 'alphaUser', 'betaAdmin', 'consumer'] as const) {
        const { status, body } = await call(as, tool);
        assert.equal(status, 403, `${as} ${tool}`);
        assert.match(String(body.reason), /^Tool(NotAllowed|ExplicitlyDenied)$/);
      }
    }
  });

  test('the configuration has the settings in force and their sources, and no secret', async () => {
    const { text, body } = await call('operator', 'svc.system.config');
    assert.doesNotMatch(text, new RegExp(SECRET));
    assert.match(text, /literal:\[redacted\]/);
    assert.match(text, /idp\.example\/realms\/alpha/);
    assert.match(JSON.stringify(body.structuredContent), /"config_path":"[^"]+svc\.yaml"/);
  });

  test('svc.system.info names exactly the tools that the caller may use', async () => {
    const { body } = await call('operator', 'svc.system.info');
    const listed = await node.call('GET', '/v1/tools', { headers: await realms.headers('operator') });
    const { tools } = listed.body;
    assert.ok(Array.isArray(tools));
    assert.deepEqual(body.structuredContent, {
      ...{ version: '0.1.0', status: 'healthy', capabilities: tools.map(({ name }) => name) },
    });
  });

  test('schemas and runtimes answer every caller that may call tools', async () => {
    for (const as of ['operator', 'service', 'alphaUser', 'consumer'] as const) {
      for (const [tool, args] of [
        ['svc.schema.get', { key: 'agent/manifest/v1' }],
        ['svc.schema.validate', { kind: 'agent', manifest_yaml: agentYaml('fine') }],
        ['svc.runtime.list', {}],
      ] as const) {
        const { status, body } = await call(as, tool, args);
        assert.deepEqual([status, body.isError], [200, false], `${as} ${tool}`);
      }
    }
  });
});

describe('a language and version that the node does not have', () => {
  let node: ProductNode;
  let unknown: string;
  before(async () => {
    node = await ProductNode.start();
    unknown = await node.deploy(agentYaml('unknown', { runtime: { language: 'python', version: '2.7' } }));
  });
  after(() => node[Symbol.asyncDispose]());

  const REFUSED = /runtime python 2\.7 is not in the table of this node, which has python 3\.9, 3\.10, 3\.11/;

  test('is refused by every way of starting, and nothing is started', async () => {
    const started = await node.json('POST', '/v1/executions', { agent_id: unknown, input: 'x' });
    const executed = await node.json('POST', `/v1/agents/${unknown}/execute`, { intent: 'x' });
    for (const { status, body } of [started, executed]) {
      assert.deepEqual([status, body.code], [500, 'unsupported_runtime']);
      assert.match(String(body.error), REFUSED);
    }
    const tool = await node.json('POST', '/v1/tools/svc.task.execute', { agent_id: unknown });
    assert.deepEqual([tool.status, tool.body.isError], [200, true]);
    assert.match(tool.text, REFUSED);
    const { executions } = (await node.call('GET', '/v1/executions')).body;
    assert.deepEqual(executions, []);
  });

  test('fails the state of a workflow that calls it, and the error names it', async () => {
    const id = await node.runWorkflow(flow('unknown'));
    const run = await waitUntil('the run to end', async () => {
      const { body, text } = await node.call('GET', `/v1/workflows/executions/${id}`);
      return body.status === 'running' ? null : text;
    });
    assert.match(run, REFUSED);
  });

  test('is a warning at its deploy, with the line; a deprecated one too, and also a log line when it runs', async () => {
    const deploy = async (name: string, version: string) => {
      const manifest_yaml = agentYaml(name, { runtime: { language: 'python', version } });
      return (await node.json('POST', '/v1/agents', { manifest_yaml })).body;
    };
    const rules = ({ warnings }: Readonly<Record<string, unknown>>) =>
      Array.isArray(warnings) ? warnings.map(({ rule, path }) => `${rule} ${path}`) : warnings;
    assert.deepEqual(rules(await deploy('older', '2.6')), ['unknown_runtime spec.runtime.version']);
    assert.equal(rules(await deploy('new', '3.11')), undefined);
    const old = await deploy('old', '3.9');
    assert.deepEqual(rules(old), ['deprecated_runtime spec.runtime.version']);
    const id = await node.run(String(old.agent_id), 'x');
    await waitUntil('the warning in the log', () => node.process.log.includes('runtime python 3.9 is deprecated'));
    const line = node.process.log.split('\n').find((one) => one.includes('is deprecated'));
    assert.ok(line?.includes(id) && line.includes(String(old.agent_id)), line);
  });
});
