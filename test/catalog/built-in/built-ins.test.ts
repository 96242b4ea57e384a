import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { planExecution } from '../../../actors/execution/plan-execution.ts';
import {
  AGENT_AUTHOR_ID,
  BUILT_IN_AGENTS,
  BUILT_IN_WORKFLOWS,
  builtInId,
  INTENT_PIPELINE_ID,
  isAuthor,
} from '../../../catalog/built-in/api.ts';
import { createBuiltIns } from '../../../catalog/built-in/built-ins.ts';
import { validateWorkflow } from '../../../catalog/manifest-work.ts';

const builtIns = createBuiltIns();

describe('what ships with the product', () => {
  it('is every manifest in the folder, and no other', () => {
    const files = readdirSync(new URL('../../../catalog/built-in/manifests/', import.meta.url));
    const names = [...BUILT_IN_AGENTS, ...BUILT_IN_WORKFLOWS].map((name) => `${name}.yaml`);
    assert.deepEqual(files.sort(), names.sort());
  });

  it('has the names of its files, is deployed, global, and labelled as the platform', () => {
    for (const one of [...builtIns.agents, ...builtIns.workflows]) {
      assert.equal(one.name, one.manifest.metadata.name);
      assert.equal(one.labels['svc.dev/platform'], 'true', one.name);
      assert.deepEqual([one.status, one.scope, one.owner], ['deployed', 'global', null]);
      assert.notEqual(one.description, '');
    }
  });

  it('has the same ids in every installation', () => {
    assert.equal(AGENT_AUTHOR_ID, 'acf143e3-c326-89de-b9ef-83b932be8432');
    assert.equal(INTENT_PIPELINE_ID, 'ae7c8bf7-bdfe-8921-83cc-f08efd1155d1');
    const ids = [...builtIns.agents.map(({ agent_id }) => agent_id), ...builtIns.workflows.map(({ id }) => id)];
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('is read once', () => {
    assert.equal(builtIns.agents, builtIns.agents);
    assert.equal(builtIns.workflows, builtIns.workflows);
  });

  it('has agents that every node can run', () => {
    for (const { manifest } of builtIns.agents) assert.doesNotThrow(() => planExecution(manifest, {}));
  });

  it('gives the wide context to the two authoring agents alone, and gives them only what they need', () => {
    const wide = builtIns.agents.filter(({ manifest }) => manifest.spec.security_context !== undefined);
    assert.deepEqual(
      wide.map(({ name }) => name),
      ['agent-author', 'workflow-author'],
    );
    for (const { agent_id, manifest } of wide) {
      assert.ok(isAuthor(agent_id));
      assert.equal(manifest.spec.security_context, 'svc-system-default');
      for (const { name } of manifest.spec.tools) assert.match(name, /^svc\.[a-z.]+$/);
    }
    assert.ok(!isAuthor(builtInId('agent', 'output-formatter')));
  });

  it('has workflows of which the checker has nothing to say', () => {
    const agents = new Set<string>(BUILT_IN_AGENTS);
    for (const { manifest_yaml, name } of builtIns.workflows) {
      const { findings } = validateWorkflow(manifest_yaml, { agents: (asked) => agents.has(asked) });
      assert.deepEqual(findings, [], name);
    }
  });
});
