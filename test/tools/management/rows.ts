import assert from 'node:assert/strict';
import { waitUntil } from '../../support/wait-until.ts';
import type { Args, Result, Setting } from './setting.ts';

/** One thing a tool does or refuses (spec 3). `by`: who calls it; default an operator. */
export interface Row {
  readonly tool: string;
  readonly what: string;
  readonly args: Args | ((at: Setting) => Args | Promise<Args>);
  readonly by?: 'user' | 'stranger' | 'service';
  /** A failure by its code and a part of its text, or what is asserted of the result. */
  readonly gives: readonly [code: string, text: RegExp] | ((result: Result, args: Args, at: Setting) => unknown);
}

const has =
  (expected: Result): Exclude<Row['gives'], readonly unknown[]> =>
  (result) =>
    assert.deepEqual({ ...result, ...expected }, result);

const listOf = (value: unknown): readonly Result[] => {
  assert.ok(Array.isArray(value));
  return value;
};

const noAgent = ['not_found', /agent not found/] as const;
const noWorkflow = ['not_found', /workflow not found/] as const;
const noTask = ['not_found', /^execution not found$/] as const;
const noRun = ['not_found', /workflow execution not found/] as const;
const broken = { manifest_yaml: 'kind: Agent\nspec: [' };
const unknownTask = (at: Setting): Args => ({ execution_id: at.unknown });

const AGENTS: readonly Row[] = [
  {
    ...{ tool: 'svc.agent.create', what: 'deploys a new agent' },
    args: (at) => ({ manifest_yaml: at.agentYaml() }),
    gives: has({ deployed: true }),
  },
  { tool: 'svc.agent.create', what: 'refuses what is no manifest', args: broken, gives: ['invalid_manifest', /line/] },
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
    ...{ tool: 'svc.agent.update', what: 'makes none that is not there' },
    args: (at) => ({ manifest_yaml: at.agentYaml() }),
    gives: noAgent,
  },
  {
    ...{ tool: 'svc.agent.update', what: 'refuses the same version without force' },
    args: async (at) => ({ manifest_yaml: at.agentYaml((await at.agent()).name) }),
    gives: ['conflict', /1\.0\.0/],
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
  { tool: 'svc.agent.export', what: 'knows no unknown name', args: { name: 'nobody' }, gives: noAgent },
  {
    ...{ tool: 'svc.agent.export', what: 'shows a stranger nothing', by: 'stranger' },
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
  { tool: 'svc.agent.delete', what: 'knows no unknown id', args: (at) => ({ agent_id: at.unknown }), gives: noAgent },
  {
    ...{ tool: 'svc.agent.delete', what: 'lets a stranger delete nothing', by: 'stranger' },
    args: async (at) => ({ agent_id: (await at.agent()).agent_id }),
    gives: noAgent,
  },
  {
    ...{ tool: 'svc.agent.delete', what: 'refuses while an execution of it runs' },
    args: async (at) => {
      const execution_id = await at.runningTask();
      await waitUntil('it is listed', async () => {
        const { executions } = await at.ok('svc.task.list', { limit: 1_000 });
        return listOf(executions).some(({ id }) => id === execution_id);
      });
      return { agent_id: (await at.ok('svc.task.status', { execution_id })).agent_id };
    },
    gives: ['failed_precondition', /run/],
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
  { tool: 'svc.agent.list', what: 'shows a stranger its own', by: 'stranger', args: {}, gives: has({ agents: [] }) },
  {
    ...{ tool: 'svc.agent.search', what: 'finds by what it does' },
    args: async (at) => {
      const manifest_yaml = at.agentYaml(at.name(), '1.0.0', { description: 'Translates poems into Icelandic' });
      await at.ok('svc.agent.create', { manifest_yaml });
      return { query: 'translate a poem to Icelandic' };
    },
    gives: ({ tool, query, results, total }, args) => {
      assert.deepEqual([tool, query], ['svc.agent.search', args.query]);
      assert.equal(listOf(results)[0]?.description, 'Translates poems into Icelandic');
      assert.equal(total, listOf(results).length);
    },
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
  { tool: 'svc.agent.logs', what: 'knows no unknown id', args: (at) => ({ agent_id: at.unknown }), gives: noAgent },
  { tool: 'svc.agent.logs', what: 'knows no unknown name', args: { agent_id: 'nobody' }, gives: noAgent },
  {
    ...{ tool: 'svc.agent.logs', what: 'shows a stranger nothing', by: 'stranger' },
    args: async (at) => ({ agent_id: (await at.agent()).agent_id }),
    gives: noAgent,
  },
];

const TASKS: readonly Row[] = [
  {
    ...{ tool: 'svc.task.execute', what: 'starts by name' },
    args: async (at) => ({ agent_id: (await at.agent()).name, intent: 'be quick', input: { a: 1 } }),
    gives: has({ status: 'started' }),
  },
  {
    ...{ tool: 'svc.task.execute', what: 'starts the version that is asked for' },
    args: async (at) => ({ agent_id: (await at.agent()).name, version: '1.0.0', input: { a: 1 } }),
    gives: has({ status: 'started' }),
  },
  {
    ...{ tool: 'svc.task.execute', what: 'refuses a start that says nothing to an agent without an instruction' },
    args: async (at) => ({ agent_id: (await at.agent()).name }),
    gives: ['invalid_argument', /nothing to ask/],
  },
  {
    ...{ tool: 'svc.task.execute', what: 'knows no unknown version' },
    args: async (at) => ({ agent_id: (await at.agent()).name, version: '9.9.9' }),
    gives: ['not_found', /version/],
  },
  { tool: 'svc.task.execute', what: 'knows no unknown agent', args: { agent_id: 'nobody' }, gives: noAgent },
  {
    ...{ tool: 'svc.task.execute', what: 'starts nothing for a stranger', by: 'stranger' },
    args: async (at) => ({ agent_id: (await at.agent()).agent_id }),
    gives: noAgent,
  },
  {
    ...{ tool: 'svc.task.status', what: 'says how an ended one stands' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: has({ status: 'completed', iteration_count: 1, last_output: 'done', last_error: null }),
  },
  {
    ...{ tool: 'svc.task.status', what: 'says that one runs' },
    args: async (at) => ({ execution_id: await at.runningTask() }),
    gives: has({ status: 'running', ended_at: null }),
  },
  { tool: 'svc.task.status', what: 'knows no unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.task.status', what: 'shows a stranger nothing', by: 'stranger' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: noTask,
  },
  ...['svc.task.wait', 'svc.agent.wait'].flatMap((tool): Row[] => [
    {
      ...{ tool, what: 'answers with the end' },
      args: async (at) => ({ execution_id: await at.task('be quick'), poll_interval_seconds: 60 }),
      gives: has({ status: 'completed', last_output: 'done' }),
    },
    {
      ...{ tool, what: 'answers at once for one that has ended' },
      args: async (at) => ({ execution_id: await at.endedTask(), timeout_seconds: 1 }),
      gives: has({ status: 'completed' }),
    },
    {
      ...{ tool, what: 'says timed_out when it goes on' },
      args: async (at) => ({ execution_id: await at.runningTask(), timeout_seconds: 1 }),
      gives: has({ status: 'timed_out', ended_at: null }),
    },
    { tool, what: 'knows no unknown id', args: unknownTask, gives: noTask },
    {
      ...{ tool, what: 'lets a stranger wait for nothing', by: 'stranger' },
      args: async (at) => ({ execution_id: await at.endedTask() }),
      gives: noTask,
    },
  ]),
  {
    ...{ tool: 'svc.task.list', what: 'lists those of one agent' },
    args: async (at) => {
      const execution_id = await at.endedTask();
      const { agent_id } = await at.ok('svc.task.status', { execution_id });
      await waitUntil('it is listed', async () => {
        const { executions } = await at.ok('svc.task.list', { agent_id });
        return listOf(executions)[0]?.status === 'completed';
      });
      return { agent_id };
    },
    gives: ({ executions }, { agent_id }) => {
      const [only, ...others] = listOf(executions);
      assert.deepEqual([only?.agent_id, only?.status, others], [agent_id, 'completed', []]);
      assert.deepEqual(Object.keys(only ?? {}), ['id', 'agent_id', 'status', 'started_at']);
    },
  },
  {
    tool: 'svc.task.list',
    what: 'is empty for an unknown agent',
    args: { agent_id: 'no' },
    gives: has({ executions: [] }),
  },
  { tool: 'svc.task.list', what: 'shows a stranger its own', by: 'stranger', args: {}, gives: has({ executions: [] }) },
  {
    ...{ tool: 'svc.task.logs', what: 'shows events oldest first, by pages' },
    args: async (at) => ({ execution_id: await at.endedTask(), limit: 2, offset: 0 }),
    gives: async ({ tool, events, total, status }, { execution_id }, at) => {
      assert.deepEqual([tool, status], ['svc.task.logs', 'completed']);
      const whole = await at.ok('svc.task.logs', { execution_id });
      assert.equal(total, listOf(whole.events).length);
      assert.deepEqual(events, listOf(whole.events).slice(0, 2));
      assert.deepEqual(listOf(whole.events)[0]?.event_type, 'ExecutionStarted');
      assert.ok(listOf(whole.events).some(({ event_type }) => event_type === 'ExecutionOutputReceived'));
      const rest = await at.ok('svc.task.logs', { execution_id, offset: 2 });
      assert.deepEqual(rest.events, listOf(whole.events).slice(2));
    },
  },
  { tool: 'svc.task.logs', what: 'knows no unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.task.logs', what: 'shows a stranger nothing', by: 'stranger' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: noTask,
  },
  {
    ...{ tool: 'svc.task.cancel', what: 'cancels one that runs' },
    args: async (at) => ({ execution_id: await at.runningTask() }),
    gives: async (result, { execution_id }, at) => {
      assert.deepEqual(result, { execution_id, cancelled: true });
      assert.equal((await at.ok('svc.task.wait', { execution_id })).status, 'cancelled');
    },
  },
  {
    ...{ tool: 'svc.task.cancel', what: 'refuses one that has ended' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: ['failed_precondition', /completed already/],
  },
  { tool: 'svc.task.cancel', what: 'knows no unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.task.cancel', what: 'lets a stranger cancel nothing', by: 'stranger' },
    args: async (at) => ({ execution_id: await at.runningTask() }),
    gives: noTask,
  },
  {
    ...{ tool: 'svc.task.remove', what: 'removes one that has ended' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: (result, { execution_id }) => assert.deepEqual(result, { execution_id, removed: true }),
  },
  {
    ...{ tool: 'svc.task.remove', what: 'refuses one that runs' },
    args: async (at) => ({ execution_id: await at.runningTask() }),
    gives: ['failed_precondition', /not ended/],
  },
  {
    ...{ tool: 'svc.task.remove', what: 'refuses one without the role', by: 'user' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: ['forbidden', /role/],
  },
  { tool: 'svc.task.remove', what: 'knows no unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.task.remove', what: 'lets a stranger remove nothing', by: 'stranger' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: noTask,
  },
];

export { has, listOf, noRun, noWorkflow };
export const AGENT_AND_TASK_ROWS: readonly Row[] = [...AGENTS, ...TASKS];
