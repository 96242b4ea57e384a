import assert from 'node:assert/strict';
import { waitUntil } from '../../support/wait-until.ts';
import { has, listOf, noRun, noWorkflow, type Row } from './rows.ts';
import type { Args, Setting } from './setting.ts';

const broken = { manifest_yaml: 'kind: Workflow\nspec: [' };
const unknownRun = (at: Setting): Args => ({ execution_id: at.unknown });
const word =
  (name: string, error: RegExp): Row['gives'] =>
  (result) => {
    assert.equal(result[name], false);
    assert.match(String(result.error), error);
  };

const DEPLOYS: readonly Row[] = [
  {
    ...{ tool: 'svc.workflow.create', what: 'deploys what the judge passes, and tells what it said' },
    args: (at) => ({ manifest_yaml: at.workflowYaml(), task_context: 'a test' }),
    gives: ({ deployed, validation_results: results }) => {
      assert.equal(deployed, true);
      const [result, ...others] = listOf(results);
      assert.deepEqual([result?.score, result?.confidence, result?.passed, others], [0.9, 0.95, true, []]);
    },
  },
  ...(
    [
      ['a score below min_score', 'refuse this', {}, /score 0\.4/],
      ['a confidence below min_confidence', 'not sure', {}, /confidence 0\.3/],
      ['a score that is high, but not enough for the caller', 'any', { min_score: 0.95 }, /score 0\.9/],
    ] as const
  ).map(
    ([what, task_context, more, text]): Row => ({
      ...{ tool: 'svc.workflow.create', what: `registers nothing after ${what}` },
      args: (at) => ({ manifest_yaml: at.workflowYaml(), task_context, ...more }),
      gives: ['validation_failed', text],
    }),
  ),
  {
    ...{ tool: 'svc.workflow.create', what: 'names a judge that is not there' },
    args: (at) => ({ manifest_yaml: at.workflowYaml(), judge_agents: ['nobody'] }),
    gives: ['not_found', /nobody/],
  },
  {
    ...{ tool: 'svc.workflow.create', what: 'refuses a broken text before any judge' },
    ...{ args: { ...broken, judge_agents: ['nobody'] }, gives: ['invalid_manifest', /line/] },
  },
  {
    ...{ tool: 'svc.workflow.create', what: 'refuses the same version again before any judge' },
    args: async (at) => ({ manifest_yaml: at.workflowYaml((await at.workflow()).name), judge_agents: ['nobody'] }),
    gives: ['conflict', /1\.0\.0/],
  },
  {
    ...{ tool: 'svc.workflow.create', what: 'overwrites it with force' },
    args: async (at) => ({ manifest_yaml: at.workflowYaml((await at.workflow()).name), force: true }),
    gives: has({ deployed: true }),
  },
  {
    ...{ tool: 'svc.workflow.update', what: 'adds a version to one that is there' },
    args: async (at) => ({ manifest_yaml: at.workflowYaml((await at.workflow()).name, '1.1.0') }),
    gives: has({ updated: true }),
  },
  {
    ...{ tool: 'svc.workflow.update', what: 'makes none that is not there' },
    ...{ args: (at: Setting) => ({ manifest_yaml: at.workflowYaml() }), gives: noWorkflow },
  },
  {
    ...{ tool: 'svc.workflow.update', what: 'refuses the same version without force' },
    args: async (at) => ({ manifest_yaml: at.workflowYaml((await at.workflow()).name) }),
    gives: ['conflict', /1\.0\.0/],
  },
  {
    ...{ tool: 'svc.workflow.update', what: 'refuses what is no manifest' },
    ...{ args: broken, gives: ['invalid_manifest', /line/] },
  },
  {
    ...{ tool: 'svc.workflow.validate', what: 'says that one is good' },
    args: (at) => ({ manifest_yaml: at.workflowYaml('good') }),
    gives: has({ valid: true, metadata: { name: 'good', version: '1.0.0', initial_state: 'END' } }),
  },
  { tool: 'svc.workflow.validate', what: 'says what is wrong', args: broken, gives: has({ valid: false }) },
  {
    ...{ tool: 'svc.workflow.export', what: 'answers the manifest as it was deployed' },
    args: async (at) => ({ name: (await at.workflow()).workflow_id }),
    gives: ({ manifest_yaml, metadata }, { name }) => {
      assert.match(String(manifest_yaml), /initial_state: END/);
      assert.equal(Object(metadata).workflow_id, name);
    },
  },
  { tool: 'svc.workflow.export', what: 'knows no unknown name', args: { name: 'nothing' }, gives: noWorkflow },
  {
    ...{ tool: 'svc.workflow.export', what: 'shows a stranger nothing', by: 'stranger' },
    args: async (at) => ({ name: (await at.workflow()).workflow_id }),
    gives: noWorkflow,
  },
  {
    ...{ tool: 'svc.workflow.delete', what: 'deletes for good' },
    args: async (at) => ({ name: (await at.workflow()).name }),
    gives: has({ deleted: true }),
  },
  { tool: 'svc.workflow.delete', what: 'knows no unknown name', args: { name: 'nothing' }, gives: noWorkflow },
  {
    ...{ tool: 'svc.workflow.delete', what: 'lets a stranger delete nothing', by: 'stranger' },
    args: async (at) => ({ name: (await at.workflow()).workflow_id }),
    gives: noWorkflow,
  },
  ...(['svc.workflow.update', 'svc.workflow.delete'] as const).map(
    (tool): Row => ({
      ...{ tool, what: "changes nothing of the tenant's without the role", by: 'user' },
      args: async (at) => {
        const { name } = await at.workflow();
        return tool === 'svc.workflow.delete' ? { name } : { manifest_yaml: at.workflowYaml(name, '1.1.0') };
      },
      gives: ['forbidden', /role/],
    }),
  ),
  {
    ...{ tool: 'svc.workflow.create', what: 'deploys for one without the role what is its own', by: 'user' },
    args: (at) => ({ manifest_yaml: at.workflowYaml() }),
    gives: has({ deployed: true }),
  },
  {
    ...{ tool: 'svc.workflow.list', what: 'lists by name' },
    args: async (at) => {
      await at.workflow();
      return {};
    },
    gives: ({ workflows }) => {
      const names = listOf(workflows).map(({ name }) => String(name));
      assert.deepEqual(names, names.toSorted());
      assert.deepEqual(Object.keys(listOf(workflows)[0] ?? {}), ['id', 'name', 'version', 'initial_state']);
    },
  },
  {
    ...{ tool: 'svc.workflow.list', what: 'lists global ones' },
    args: { scope: 'global' },
    gives: ({ workflows }) => assert.ok(!listOf(workflows).some(({ name }) => String(name).startsWith('n0'))),
  },
  {
    tool: 'svc.workflow.list',
    what: 'shows a stranger its own',
    by: 'stranger',
    args: {},
    gives: has({ workflows: [] }),
  },
  {
    ...{ tool: 'svc.workflow.list', what: 'knows no tenant but the own', by: 'user' },
    ...{ args: { tenant_id: 'umbrella' }, gives: ['not_found', /tenant not found/] },
  },
  {
    ...{ tool: 'svc.workflow.list', what: 'shows a service account the tenant it names', by: 'service' },
    args: async (at) => {
      await at.workflow();
      return { tenant_id: 'acme' };
    },
    gives: ({ workflows }) => assert.ok(listOf(workflows).length > 0),
  },
  {
    ...{ tool: 'svc.workflow.list', what: "shows nobody another user's", by: 'user' },
    ...{ args: { scope: 'visible', user_id: 'olga' }, gives: ['not_found', /user not found/] },
  },
  {
    ...{ tool: 'svc.workflow.search', what: 'finds by what it does' },
    args: async (at) => {
      await at.workflow({ description: 'Reconciles ledgers of warehouses' });
      return { query: 'reconcile warehouse ledgers' };
    },
    gives: ({ tool, results }) => {
      assert.equal(tool, 'svc.workflow.search');
      assert.equal(listOf(results)[0]?.description, 'Reconciles ledgers of warehouses');
    },
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'gives it to a user' },
    args: async (at) => ({ name: (await at.workflow()).name, target_scope: 'user', user_id: 'olga' }),
    gives: has({ demoted: true, target_scope: 'user' }),
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'refuses one without the role', by: 'user' },
    args: async (at) => ({ name: (await at.workflow()).name, target_scope: 'user' }),
    gives: ['forbidden', /administrator/],
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'knows no unknown name' },
    ...{ args: { name: 'nothing', target_scope: 'user' }, gives: noWorkflow },
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'shows it to all' },
    args: async (at) => ({ name: (await at.workflow()).name }),
    gives: has({ promoted: true, target_scope: 'global' }),
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'refuses one without the role', by: 'user' },
    args: async (at) => ({ name: (await at.workflow()).name }),
    gives: ['forbidden', /operator/],
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'knows no unknown name' },
    ...{ args: { name: 'nothing' }, gives: noWorkflow },
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'knows nothing of another tenant', by: 'stranger' },
    args: async (at) => ({ name: (await at.workflow()).name, tenant_id: 'acme' }),
    gives: noWorkflow,
  },
];

const RUNS: readonly Row[] = [
  {
    ...{ tool: 'svc.workflow.run', what: 'starts by name' },
    args: async (at) => ({ name: (await at.workflow()).name, intent: 'a test', blackboard: { a: 1 } }),
    gives: has({ status: 'started' }),
  },
  { tool: 'svc.workflow.run', what: 'knows no unknown name', args: { name: 'nothing' }, gives: noWorkflow },
  {
    ...{ tool: 'svc.workflow.run', what: 'starts nothing for a stranger', by: 'stranger' },
    args: async (at) => ({ name: (await at.workflow()).workflow_id }),
    gives: noWorkflow,
  },
  {
    ...{ tool: 'svc.workflow.executions.list', what: 'lists those of one workflow, with how many there are' },
    args: async (at) => {
      const execution_id = await at.endedRun();
      const { workflow_id } = await at.ok('svc.workflow.status', { execution_id });
      await waitUntil('it is listed', async () => {
        const { executions } = await at.ok('svc.workflow.executions.list', { workflow_id });
        return listOf(executions)[0]?.status === 'completed';
      });
      return { workflow_id };
    },
    gives: ({ executions, total, limit, offset }, { workflow_id }) => {
      assert.deepEqual([total, limit, offset], [1, 20, 0]);
      const [only] = listOf(executions);
      assert.deepEqual([only?.workflow_id, only?.status, only?.current_state], [workflow_id, 'completed', 'END']);
    },
  },
  {
    ...{ tool: 'svc.workflow.executions.list', what: 'shows a stranger its own', by: 'stranger' },
    ...{ args: {}, gives: has({ executions: [], total: 0 }) },
  },
  {
    ...{ tool: 'svc.workflow.executions.list', what: 'knows no tenant but the own', by: 'stranger' },
    ...{ args: { tenant_id: 'acme' }, gives: ['not_found', /tenant not found/] },
  },
  {
    ...{ tool: 'svc.workflow.executions.get', what: 'shows input, blackboard and outputs' },
    args: async (at) => ({ execution_id: await at.endedRun() }),
    gives: (result) => {
      assert.deepEqual([result.status, result.input], ['completed', { word: 'hello' }]);
      assert.equal(Object(result.blackboard).seen, 'hello');
      assert.deepEqual(Object.keys(Object(result.state_outputs)), ['END']);
    },
  },
  ...['svc.workflow.executions.get', 'svc.workflow.status', 'svc.workflow.wait', 'svc.workflow.logs'].flatMap(
    (tool): Row[] => [
      { tool, what: 'knows no unknown id', args: unknownRun, gives: noRun },
      {
        ...{ tool, what: 'shows a stranger nothing', by: 'stranger' },
        args: async (at) => ({ execution_id: await at.endedRun() }),
        gives: noRun,
      },
    ],
  ),
  ...['svc.workflow.executions.get', 'svc.workflow.status'].flatMap((tool): Row[] => [
    {
      ...{ tool, what: 'shows a stranger nothing of a tenant it names', by: 'stranger' },
      args: async (at) => ({ execution_id: await at.endedRun(), tenant_id: 'acme' }),
      gives: noRun,
    },
    {
      ...{ tool, what: 'shows a service account what is in the tenant it names', by: 'service' },
      args: async (at) => ({ execution_id: await at.endedRun(), tenant_id: 'acme' }),
      gives: has({ status: 'completed' }),
    },
  ]),
  {
    ...{ tool: 'svc.workflow.status', what: 'says where it stands' },
    args: async (at) => ({ execution_id: await at.waitingRun() }),
    gives: has({ status: 'waiting_for_human_input', current_state: 'ASK' }),
  },
  {
    ...{ tool: 'svc.workflow.logs', what: 'shows events oldest first, by pages' },
    args: async (at) => ({ execution_id: await at.endedRun(), limit: 1, offset: 1 }),
    gives: async ({ tool, events, status }, { execution_id }, at) => {
      assert.deepEqual([tool, status], ['svc.workflow.logs', 'completed']);
      const whole = listOf((await at.ok('svc.workflow.logs', { execution_id })).events);
      assert.deepEqual(events, whole.slice(1, 2));
      const names = whole.map(({ event_type }) => event_type);
      assert.deepEqual(names.slice(0, 2), ['WorkflowExecutionStarted', 'WorkflowStateEntered']);
      assert.deepEqual(Object.keys(whole[0] ?? {}).sort(), [
        ...['event_type', 'iteration_number', 'payload', 'recorded_at', 'sequence', 'state_name'],
      ]);
    },
  },
  {
    ...{ tool: 'svc.workflow.cancel', what: 'cancels one that waits' },
    args: async (at) => ({ execution_id: await at.waitingRun() }),
    gives: async (result, { execution_id }, at) => {
      assert.deepEqual(result, { cancelled: true, execution_id });
      assert.equal((await at.ok('svc.workflow.wait', { execution_id })).status, 'cancelled');
    },
  },
  {
    ...{ tool: 'svc.workflow.cancel', what: 'says false for one that has ended' },
    args: async (at) => ({ execution_id: await at.endedRun() }),
    gives: word('cancelled', /completed already/),
  },
  {
    ...{ tool: 'svc.workflow.wait', what: 'answers with the end and the blackboard' },
    args: async (at) => ({ execution_id: await at.run({}, { word: 'late' }), poll_interval_seconds: 60 }),
    gives: ({ status, blackboard }) =>
      assert.deepEqual(
        [status, Object(blackboard).seen, Object(blackboard).END?.status],
        ['completed', 'late', 'success'],
      ),
  },
  {
    ...{ tool: 'svc.workflow.wait', what: 'says timed_out when it goes on' },
    args: async (at) => ({ execution_id: await at.waitingRun(), timeout_seconds: 0 }),
    gives: (result, { execution_id }) =>
      assert.deepEqual(result, {
        ...{ execution_id, status: 'waiting_for_human_input', current_state: 'ASK', timed_out: true },
      }),
  },
  {
    ...{ tool: 'svc.workflow.signal', what: 'answers what it waits for' },
    args: async (at) => ({ execution_id: await at.waitingRun(), response: 'yes' }),
    gives: async (result, { execution_id }, at) => {
      assert.deepEqual(result, { signalled: true, execution_id });
      assert.equal((await at.ok('svc.workflow.wait', { execution_id })).status, 'completed');
    },
  },
  {
    ...{ tool: 'svc.workflow.signal', what: 'says false when it waits for nobody' },
    args: async (at) => ({ execution_id: await at.endedRun(), response: 'yes' }),
    gives: word('signalled', /waits for no human/),
  },
  {
    ...{ tool: 'svc.workflow.remove', what: 'removes one that has ended' },
    args: async (at) => ({ execution_id: await at.endedRun() }),
    gives: (result, { execution_id }) => assert.deepEqual(result, { removed: true, execution_id }),
  },
  {
    ...{ tool: 'svc.workflow.remove', what: 'says false to one without the role', by: 'user' },
    args: async (at) => ({ execution_id: await at.endedRun() }),
    gives: word('removed', /role/),
  },
  {
    ...{ tool: 'svc.workflow.remove', what: 'says false for one that runs' },
    args: async (at) => ({ execution_id: await at.waitingRun() }),
    gives: word('removed', /not ended/),
  },
  ...(
    [
      ['svc.workflow.cancel', 'cancelled', {}],
      ['svc.workflow.signal', 'signalled', { response: 'yes' }],
      ['svc.workflow.remove', 'removed', {}],
    ] as const
  ).flatMap(([tool, name, more]): Row[] => [
    {
      ...{ tool, what: 'says false for an unknown id' },
      args: (at) => ({ execution_id: at.unknown, ...more }),
      gives: word(name, /^workflow execution not found$/),
    },
    {
      ...{ tool, what: 'says a stranger the same', by: 'stranger' },
      args: async (at) => ({ execution_id: await at.waitingRun(), ...more }),
      gives: word(name, /^workflow execution not found$/),
    },
  ]),
];

export const WORKFLOW_ROWS: readonly Row[] = [...DEPLOYS, ...RUNS];
