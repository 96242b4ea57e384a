import assert from 'node:assert/strict';
import { waitUntil } from '../../support/wait-until.ts';
import { has, listOf, noAgent, type Row } from './row.ts';

const broken = { manifest_yaml: 'kind: Agent\nspec: [' };

/** svc.agent.* but svc.agent.search, generate and wait (W34). */
export const AGENT_ROWS: readonly Row[] = [
  {
    ...{ tool: 'svc.agent.create', what: 'deploys a new agent' },
    args: (at) => ({ manifest_yaml: at.agentYaml() }),
    gives: has({ deployed: true }),
  },
  { tool: 'svc.agent.create', what: 'refuses what is no manifest', args: broken, gives: ['invalid_manifest', /line/] },
  {
    ...{ tool: 'svc.agent.create', what: 'refuses a manifest with a wrong field, and says where' },
    args: (at) => ({ manifest_yaml: at.agentYaml().replace('prompt_template', 'prompt_templates') }),
    gives: ['invalid_manifest', /spec\.task.*prompt_templates/s],
  },
  {
    ...{ tool: 'svc.agent.create', what: 'refuses the same version again' },
    args: async (at) => ({ manifest_yaml: at.agentYaml((await at.agent()).name) }),
    gives: ['conflict', /1\.0\.0/],
  },
  {
    ...{ tool: 'svc.agent.create', what: 'overwrites it with force' },
    args: async (at) => ({ manifest_yaml: at.agentYaml((await at.agent()).name), force: true }),
    gives: has({ deployed: true }),
  },
  {
    ...{ tool: 'svc.agent.update', what: 'adds a version to an agent that is there' },
    args: async (at) => ({ manifest_yaml: at.agentYaml((await at.agent()).name, '1.1.0') }),
    gives: has({ updated: true }),
  },
  {
    ...{ tool: 'svc.agent.update', what: 'refuses to update an unknown one' },
    args: (at) => ({ manifest_yaml: at.agentYaml() }),
    gives: noAgent,
  },
  {
    ...{ tool: 'svc.agent.update', what: 'refuses the same version without force' },
    args: async (at) => ({ manifest_yaml: at.agentYaml((await at.agent()).name) }),
    gives: ['conflict', /1\.0\.0/],
  },
  {
    ...{ tool: 'svc.agent.update', what: 'leaves what ships with the product as it is' },
    args: (at) => ({ manifest_yaml: at.agentYaml('output-formatter', '9.0.0') }),
    gives: ['failed_precondition', /output-formatter ships with the product/],
    leaves: async (_args, at) => {
      const { metadata } = await at.ok('svc.agent.export', { name: 'output-formatter' });
      assert.equal(Object(metadata).version, '1.0.0');
    },
  },
  {
    ...{ tool: 'svc.agent.update', what: 'overwrites it with force' },
    args: async (at) => ({
      ...{ manifest_yaml: at.agentYaml((await at.agent()).name, '1.0.0', { description: 'is another' }), force: true },
    }),
    gives: async ({ agent_id, updated }, _args, at) => {
      const { metadata } = await at.ok('svc.agent.export', { name: agent_id });
      assert.deepEqual(
        [updated, Object(metadata).version, Object(metadata).description],
        [true, '1.0.0', 'is another'],
      );
    },
  },
  {
    ...{ tool: 'svc.agent.update', what: 'names the errors of a manifest to a caller without the role', by: 'user' },
    ...{ args: broken, gives: ['invalid_manifest', /line/] },
  },
  { tool: 'svc.agent.update', what: 'refuses what is no manifest', args: broken, gives: ['invalid_manifest', /line/] },
  {
    ...{ tool: 'svc.agent.export', what: 'answers the manifest as it was deployed' },
    args: async (at) => ({ name: (await at.agent()).name }),
    gives: ({ manifest_yaml, metadata }, { name }) => {
      assert.match(String(manifest_yaml), new RegExp(`name: ${name}`));
      assert.deepEqual({ ...Object(metadata), name, version: '1.0.0', scope: 'tenant' }, metadata);
    },
  },
  {
    ...{ tool: 'svc.agent.export', what: 'answers by UUID, in any case' },
    args: async (at) => ({ name: (await at.agent()).agent_id.toUpperCase() }),
    gives: ({ metadata }, { name }) => assert.equal(Object(metadata).agent_id, String(name).toLowerCase()),
  },
  { tool: 'svc.agent.export', what: 'refuses an unknown name', args: { name: 'nobody' }, gives: noAgent },
  {
    ...{ tool: 'svc.agent.export', what: 'shows a caller of another tenant nothing', by: 'stranger' },
    args: async (at) => ({ name: (await at.agent()).agent_id }),
    gives: noAgent,
  },
  {
    ...{ tool: 'svc.agent.delete', what: 'deletes for good' },
    args: async (at) => ({ agent_id: (await at.agent()).agent_id }),
    gives: async (result, { agent_id }, at) => {
      assert.deepEqual(result, { agent_id, deleted: true });
      const { agents } = await at.ok('svc.agent.list', {});
      assert.ok(!listOf(agents).some(({ id }) => id === agent_id));
    },
  },
  { tool: 'svc.agent.delete', what: 'refuses an unknown id', args: (at) => ({ agent_id: at.unknown }), gives: noAgent },
  {
    ...{ tool: 'svc.agent.delete', what: 'lets a caller of another tenant delete nothing', by: 'stranger' },
    args: async (at) => ({ agent_id: (await at.agent()).agent_id }),
    gives: noAgent,
  },
  {
    ...{ tool: 'svc.agent.delete', what: 'refuses while an execution of it runs' },
    args: async (at) => {
      const execution_id = await at.runningTask();
      await waitUntil('it is listed', async () => {
        const { executions } = await at.ok('svc.task.list', { limit: 20 });
        return listOf(executions).some(({ id }) => id === execution_id);
      });
      return { agent_id: (await at.ok('svc.task.status', { execution_id })).agent_id };
    },
    gives: ['failed_precondition', /force to delete it/],
  },
  {
    ...{ tool: 'svc.agent.delete', what: 'deletes one whose execution runs when forced' },
    args: async (at) => {
      const execution_id = await at.runningTask();
      const { executions } = await waitUntil('it is listed', async () => {
        const listed = await at.ok('svc.task.list', { limit: 20 });
        return listOf(listed.executions).some(({ id }) => id === execution_id) ? listed : undefined;
      });
      const running = listOf(executions).find(({ id }) => id === execution_id);
      return { agent_id: running?.agent_id ?? null, force: true };
    },
    gives: (result, { agent_id }) => assert.deepEqual(result, { agent_id, deleted: true }),
  },
  ...(['svc.agent.update', 'svc.agent.delete'] as const).map(
    (tool): Row => ({
      ...{ tool, what: "changes nothing of the tenant's without the role", by: 'user' },
      args: async (at) => {
        const { agent_id, name } = await at.agent();
        return tool === 'svc.agent.delete' ? { agent_id } : { manifest_yaml: at.agentYaml(name, '1.1.0') };
      },
      gives: ['forbidden', /role/],
    }),
  ),
  {
    ...{ tool: 'svc.agent.list', what: 'lists by name' },
    args: async (at) => {
      await at.agent(`zz-${at.name()}`);
      await at.agent(`aa-${at.name()}`);
      return {};
    },
    gives: ({ agents }) => {
      const names = listOf(agents).map(({ name }) => String(name));
      assert.deepEqual(names, names.toSorted());
      assert.deepEqual(Object.keys(listOf(agents)[0] ?? {}), ['id', 'name', 'version', 'status', 'labels']);
    },
  },
  {
    tool: 'svc.agent.list',
    what: 'shows a caller of another tenant its own objects alone',
    by: 'stranger',
    args: {},
    gives: has({ agents: [] }),
  },
  {
    ...{ tool: 'svc.agent.logs', what: 'shows changes and ends of executions, newest first' },
    args: async (at) => {
      const execution_id = await at.endedTask();
      const { agent_id } = await at.ok('svc.task.status', { execution_id });
      await waitUntil('the end is in the log', async () => {
        const { total } = await at.ok('svc.agent.logs', { agent_id });
        return total === 2;
      });
      return { agent_id };
    },
    gives: ({ tool, events, limit, offset }) => {
      assert.deepEqual([tool, limit, offset], ['svc.agent.logs', 50, 0]);
      assert.deepEqual(
        listOf(events).map(({ event_type }) => event_type),
        ['ExecutionCompleted', 'AgentDeployed'],
      );
    },
  },
  {
    ...{ tool: 'svc.agent.logs', what: 'shows it by pages, and what is above the cap is capped' },
    args: async (at) => {
      const { agent_id, name } = await at.agent();
      for (const version of ['1.1.0', '1.2.0'])
        await at.ok('svc.agent.update', { manifest_yaml: at.agentYaml(name, version) });
      return { agent_id, limit: 5_000, offset: 1 };
    },
    gives: async ({ events, total, limit, offset }, { agent_id }, at) => {
      const whole = await at.ok('svc.agent.logs', { agent_id });
      assert.deepEqual([total, limit, offset], [3, 200, 1]);
      assert.deepEqual(events, listOf(whole.events).slice(1));
      const second = await at.ok('svc.agent.logs', { agent_id, limit: 1, offset: 1 });
      assert.deepEqual([second.events, second.limit], [listOf(whole.events).slice(1, 2), 1]);
      assert.deepEqual(
        listOf(whole.events).map(({ payload }) => Object(payload).version),
        ['1.2.0', '1.1.0', '1.0.0'],
      );
    },
  },
  { tool: 'svc.agent.logs', what: 'refuses an unknown id', args: (at) => ({ agent_id: at.unknown }), gives: noAgent },
  { tool: 'svc.agent.logs', what: 'refuses an unknown name', args: { agent_id: 'nobody' }, gives: noAgent },
  {
    ...{ tool: 'svc.agent.logs', what: 'shows a caller of another tenant nothing', by: 'stranger' },
    args: async (at) => ({ agent_id: (await at.agent()).agent_id }),
    gives: noAgent,
  },
];
