import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { agentYaml } from '../../product/product-node.ts';
import { type ManagementNode, managementNode } from './management-node.ts';

const WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: two-steps, version: 1.0.0 }
spec:
  initial_state: only
  states:
    only: { kind: System, command: update_blackboard, env: { a: b }, transitions: [] }
`;

describe('svc.system, svc.schema and svc.runtime', () => {
  let at: ManagementNode;
  before(async () => {
    at = await managementNode();
  });
  after(() => at[Symbol.asyncDispose]());

  test('svc.system.info shows version, health and the tools of the caller', async () => {
    const { version, status, capabilities } = await at.ok('svc.system.info', {});
    assert.deepEqual([version, status], ['0', 'healthy']);
    assert.ok(Array.isArray(capabilities));
    for (const name of ['svc.system.config', 'svc.agent.delete', 'web.fetch']) assert.ok(capabilities.includes(name));
    // It has no workspace, and commands cannot run for it.
    assert.ok(!capabilities.includes('fs.read') && !capabilities.includes('cmd.run'));
  });

  test('svc.system.config shows the settings in force as a document that the node would take', async () => {
    const { config_path, content_yaml } = await at.ok('svc.system.config', {});
    assert.equal(config_path, null);
    assert.match(String(content_yaml), /^apiVersion: svc\.dev\/v1\nkind: NodeConfig\nspec:\n/);
    assert.match(String(content_yaml), /type: scripted/);
  });

  for (const [kind, key, right, wrong] of [
    ['agent', 'agent/manifest/v1', agentYaml('fine'), agentYaml('Not Fine')],
    ['workflow', 'workflow/manifest/v1', WORKFLOW, WORKFLOW.replace('initial_state: only', 'initial_state: gone')],
  ] as const) {
    test(`svc.schema.get answers a JSON Schema of ${kind} manifests, small enough that a model sees all of it`, async () => {
      const { content, structured = {}, stored } = await at.call('svc.schema.get', { key });
      assert.deepEqual([content.length, stored, JSON.parse(String(content[0]?.text))], [1, undefined, structured]);
      const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(structured);
      assert.ok(accepts(parse(right)), JSON.stringify(accepts.errors));
      assert.ok(!accepts({ ...parse(right), kind: 'Else' }));
    });

    test(`svc.schema.validate says where a manifest of kind ${kind} is wrong`, async () => {
      assert.deepEqual(await at.ok('svc.schema.validate', { kind, manifest_yaml: right }), { valid: true });
      const { valid, errors } = await at.ok('svc.schema.validate', { kind, manifest_yaml: wrong });
      assert.equal(valid, false);
      assert.ok(Array.isArray(errors));
      const [{ path, line, message }] = errors;
      assert.equal(path, kind === 'agent' ? 'metadata.name' : 'spec.initial_state');
      assert.ok(line > 1 && message.length > 0, message);
      const broken = await at.ok('svc.schema.validate', { kind, manifest_yaml: 'a: [' });
      assert.equal(broken.valid, false);
    });
  }

  test('svc.schema.get knows two keys and svc.schema.validate two kinds', async () => {
    for (const [tool, args] of [
      ['svc.schema.get', { key: 'agent/manifest/v2' }],
      ['svc.schema.validate', { kind: 'NodeConfig', manifest_yaml: 'a: b' }],
    ] as const) {
      const { is_error, error } = await at.call(tool, args);
      assert.deepEqual([is_error, error?.code], [true, 'InvalidArguments']);
    }
  });

  test('svc.runtime.list shows the table, of one language where it is asked for', async () => {
    const all = await at.ok('svc.runtime.list', {});
    assert.deepEqual([all.tool, all.custom_runtime_supported], ['svc.runtime.list', false]);
    assert.ok(Array.isArray(all.runtimes));
    const pairs = all.runtimes.map(({ language, version }) => `${language} ${version}`);
    for (const pair of ['python 3.11', 'javascript 20', 'typescript 5.1', 'rust 1.75', 'go 1.21']) {
      assert.ok(pairs.includes(pair), pair);
    }
    assert.deepEqual(all.runtimes[0], {
      ...{ language: 'python', version: '3.9', image: 'docker.io/library/python:3.9-slim', deprecated: true },
      description: 'Python 3.9 on slim Debian',
    });
    assert.deepEqual(
      all.runtimes.filter(({ deprecated }) => deprecated).map(({ version }) => version),
      ['3.9'],
    );
    const some = await at.ok('svc.runtime.list', { language: 'Go' });
    assert.ok(Array.isArray(some.runtimes) && some.runtimes.every(({ language }) => language === 'go'));
    assert.deepEqual((await at.ok('svc.runtime.list', { language: 'cobol' })).runtimes, []);
  });
});
