import assert from 'node:assert/strict';
import { parse } from 'yaml';
import { INTENT_PIPELINE_ID } from '../../../catalog/built-in/api.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { has, listOf, noWorkflow, type Row } from './row.ts';
import type { Result, Setting } from './setting.ts';

/** Nothing stands under the name of the manifest. */
const notThere: NonNullable<Row['leaves']> = async ({ manifest_yaml }, at) => {
  const name = Object(parse(String(manifest_yaml))).metadata.name;
  const { workflows } = await at.ok('svc.workflow.list', { scope: 'visible' });
  assert.ok(!listOf(workflows).some((workflow) => workflow.name === name), 'something was registered');
};

const broken = { manifest_yaml: 'kind: Workflow\nspec: [' };

/** svc.workflow.*, as far as they are about what is deployed (W35). */
export const WORKFLOW_DEPLOY_ROWS: readonly Row[] = [
  {
    ...{ tool: 'svc.workflow.create', what: 'deploys what the judge passes, with its answer' },
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
      leaves: notThere,
    }),
  ),
  ...(
    [
      ['min_score', 'refuse this', { min_score: 0.4 }],
      ['min_confidence', 'not sure', { min_confidence: 0.3 }],
    ] as const
  ).map(
    ([what, task_context, more]): Row => ({
      ...{ tool: 'svc.workflow.create', what: `deploys what is as good as the ${what} of the caller` },
      args: (at) => ({ manifest_yaml: at.workflowYaml(), task_context, ...more }),
      gives: has({ deployed: true }),
    }),
  ),
  {
    ...{ tool: 'svc.workflow.create', what: 'asks every judge that is named' },
    args: async (at) => ({
      manifest_yaml: at.workflowYaml(),
      judge_agents: ['code-quality-judge', (await at.agent()).name],
    }),
    gives: ({ validation_results: results }, { judge_agents }) =>
      assert.deepEqual(
        [listOf(results).length, listOf(results).every(({ passed }) => passed)],
        [...[listOf(judge_agents).length, true]],
      ),
  },
  {
    ...{ tool: 'svc.workflow.create', what: 'names a judge that is not there' },
    args: (at) => ({ manifest_yaml: at.workflowYaml(), judge_agents: ['nobody'] }),
    gives: ['not_found', /nobody/],
    leaves: notThere,
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
    ...{ tool: 'svc.workflow.update', what: 'refuses to update an unknown one' },
    ...{ args: (at: Setting) => ({ manifest_yaml: at.workflowYaml() }), gives: noWorkflow },
  },
  {
    ...{ tool: 'svc.workflow.update', what: 'refuses the same version without force' },
    args: async (at) => ({ manifest_yaml: at.workflowYaml((await at.workflow()).name) }),
    gives: ['conflict', /1\.0\.0/],
  },
  {
    ...{ tool: 'svc.workflow.update', what: 'leaves what ships with the product as it is' },
    args: (at) => ({ manifest_yaml: at.workflowYaml('svc-intent-pipeline', '9.0.0') }),
    gives: ['failed_precondition', /svc-intent-pipeline ships with the product/],
    leaves: async (_args, at) => {
      const { metadata } = await at.ok('svc.workflow.export', { name: 'svc-intent-pipeline' });
      assert.equal(Object(metadata).workflow_id, INTENT_PIPELINE_ID);
    },
  },
  {
    ...{ tool: 'svc.workflow.update', what: 'overwrites it with force' },
    args: async (at) => {
      const { name } = await at.workflow();
      return { manifest_yaml: at.workflowYaml(name, '1.0.0', { description: 'is another' }), force: true };
    },
    gives: async ({ workflow_id, updated }, _args, at) => {
      const { metadata } = await at.ok('svc.workflow.export', { name: workflow_id });
      assert.deepEqual(
        [updated, Object(metadata).version, Object(metadata).description],
        [true, '1.0.0', 'is another'],
      );
    },
  },
  {
    ...{ tool: 'svc.workflow.update', what: 'names the errors of a manifest to a caller without the role', by: 'user' },
    ...{ args: broken, gives: ['invalid_manifest', /line/] },
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
  {
    ...{ tool: 'svc.workflow.export', what: 'answers by name, the version deployed last' },
    args: async (at) => {
      const { name } = await at.workflow();
      await at.ok('svc.workflow.update', { manifest_yaml: at.workflowYaml(name, '1.10.0') });
      await at.ok('svc.workflow.update', { manifest_yaml: at.workflowYaml(name, '1.9.0') });
      return { name };
    },
    gives: ({ metadata }, { name }) =>
      assert.deepEqual({ ...Object(metadata), name, version: '1.9.0', scope: 'tenant' }, metadata),
  },
  { tool: 'svc.workflow.export', what: 'refuses an unknown name', args: { name: 'nothing' }, gives: noWorkflow },
  {
    ...{ tool: 'svc.workflow.export', what: 'shows a caller of another tenant nothing', by: 'stranger' },
    args: async (at) => ({ name: (await at.workflow()).workflow_id }),
    gives: noWorkflow,
  },
  {
    ...{ tool: 'svc.workflow.delete', what: 'deletes for good' },
    args: async (at) => ({ name: (await at.workflow()).name }),
    gives: has({ deleted: true }),
  },
  {
    ...{ tool: 'svc.workflow.delete', what: 'refuses while an execution of it runs' },
    args: async (at) => {
      const { workflow_id } = await at.ok('svc.workflow.status', { execution_id: await at.waitingRun() });
      await waitUntil('it is listed', async () => {
        const { total } = await at.ok('svc.workflow.executions.list', { workflow_id });
        return total === 1;
      });
      return { name: workflow_id };
    },
    gives: ['failed_precondition', /force to delete it/],
    leaves: ({ name }, at) => at.ok('svc.workflow.export', { name }),
  },
  {
    ...{ tool: 'svc.workflow.delete', what: 'deletes one whose execution runs when forced' },
    args: async (at) => {
      const { workflow_id } = await at.ok('svc.workflow.status', { execution_id: await at.waitingRun() });
      await waitUntil('it is listed', async () => {
        const { total } = await at.ok('svc.workflow.executions.list', { workflow_id });
        return total === 1;
      });
      return { name: workflow_id, force: true };
    },
    gives: (result, { name }) => assert.deepEqual(result, { workflow_id: name, deleted: true }),
  },
  { tool: 'svc.workflow.delete', what: 'refuses an unknown name', args: { name: 'nothing' }, gives: noWorkflow },
  {
    ...{ tool: 'svc.workflow.delete', what: 'lets a caller of another tenant delete nothing', by: 'stranger' },
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
    ...{ tool: 'svc.workflow.list', what: 'lists all that the caller sees' },
    args: async (at) => {
      await at.workflow();
      return { scope: 'visible', tenant_id: at.tenant };
    },
    gives: async ({ workflows }, _args, at) => {
      const names = new Set(listOf(workflows).map(({ id }) => id));
      const own = listOf((await at.ok('svc.workflow.list', {})).workflows).slice(0, 3);
      assert.ok(own.length > 0 && names.has(INTENT_PIPELINE_ID), 'what ships with the product is visible');
      for (const { id } of own) assert.ok(names.has(id));
    },
  },
  {
    ...{ tool: 'svc.workflow.list', what: 'lists what a user sees' },
    args: async (at) => {
      const { name } = await at.workflow();
      await at.ok('svc.workflow.demote', { name, target_scope: 'user', user_id: `uma-${name}` });
      return { scope: 'visible', user_id: `uma-${name}` };
    },
    gives: async ({ workflows }, { user_id }, at) => {
      const isOwn = ({ name }: Result): boolean => `uma-${name}` === user_id;
      assert.ok(listOf(workflows).some(isOwn));
      const mine = await at.ok('svc.workflow.list', { scope: 'visible' });
      assert.ok(!listOf(mine.workflows).some(isOwn), 'it is for that user only');
    },
  },
  {
    tool: 'svc.workflow.list',
    what: 'shows a caller of another tenant its own objects alone',
    by: 'stranger',
    args: {},
    gives: has({ workflows: [] }),
  },
  {
    ...{ tool: 'svc.workflow.list', what: 'refuses another tenant', by: 'user' },
    ...{ args: { tenant_id: 'umbrella' }, gives: ['not_found', /tenant not found/] },
  },
  {
    ...{ tool: 'svc.workflow.list', what: 'shows a service account the tenant it names', by: 'service' },
    args: async (at) => {
      await at.workflow();
      return { tenant_id: at.tenant };
    },
    gives: ({ workflows }) => assert.ok(listOf(workflows).length > 0),
  },
  {
    ...{ tool: 'svc.workflow.list', what: 'shows a user no workflow of another user', by: 'user' },
    ...{ args: { scope: 'visible', user_id: 'olga' }, gives: ['not_found', /user not found/] },
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'gives it to a user' },
    args: async (at) => ({ name: (await at.workflow()).name, target_scope: 'user', user_id: 'olga' }),
    gives: has({ demoted: true, target_scope: 'user' }),
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'gives it to the caller where no owner is named' },
    args: async (at) => ({ name: (await at.workflow()).name, target_scope: 'user', tenant_id: at.tenant }),
    gives: async ({ workflow_id }, { name }, at) => {
      const { metadata } = await at.ok('svc.workflow.export', { name });
      assert.deepEqual([Object(metadata).workflow_id, Object(metadata).scope], [workflow_id, 'user']);
    },
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'takes it from all back to the tenant' },
    args: async (at) => {
      const { name } = await at.workflow();
      await at.ok('svc.workflow.promote', { name });
      return { name };
    },
    gives: async (result, { name }, at) => {
      assert.deepEqual({ ...result, name, demoted: true, target_scope: 'tenant' }, result);
      const { metadata } = await at.ok('svc.workflow.export', { name });
      assert.equal(Object(metadata).scope, 'tenant');
    },
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'refuses to move a workflow to the tenant that has it already' },
    args: async (at) => ({ name: (await at.workflow()).name, target_scope: 'tenant' }),
    gives: ['failed_precondition', /in scope tenant, not global/],
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'refuses one without the role', by: 'user' },
    args: async (at) => ({ name: (await at.workflow()).name, target_scope: 'user' }),
    gives: ['forbidden', /administrator/],
  },
  {
    ...{ tool: 'svc.workflow.demote', what: 'refuses an unknown name' },
    ...{ args: { name: 'nothing', target_scope: 'user' }, gives: noWorkflow },
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'shows it to all' },
    args: async (at) => ({ name: (await at.workflow()).name }),
    gives: has({ promoted: true, target_scope: 'global' }),
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'shows the tenant what was a user’s' },
    args: async (at) => {
      const { name } = await at.workflow();
      await at.ok('svc.workflow.demote', { name, target_scope: 'user' });
      return { name, target_scope: 'tenant', tenant_id: at.tenant };
    },
    gives: async (result, { name }, at) => {
      assert.deepEqual({ ...result, name, promoted: true, target_scope: 'tenant' }, result);
      const { metadata } = await at.ok('svc.workflow.export', { name });
      assert.deepEqual([Object(metadata).scope, Object(metadata).owner], ['tenant', null]);
    },
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'skips no scope' },
    args: async (at) => {
      const { name } = await at.workflow();
      await at.ok('svc.workflow.demote', { name, target_scope: 'user' });
      return { name };
    },
    gives: ['failed_precondition', /in scope user, not tenant/],
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'refuses a name that is in use there' },
    args: async (at) => {
      const { name } = await at.workflow();
      await at.ok('svc.workflow.demote', { name, target_scope: 'user' });
      await at.workflow({}, name);
      return { name, target_scope: 'tenant' };
    },
    gives: ['conflict', /exists in scope tenant/],
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'refuses one without the role', by: 'user' },
    args: async (at) => ({ name: (await at.workflow()).name }),
    gives: ['forbidden', /operator/],
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'refuses an unknown name' },
    ...{ args: { name: 'nothing' }, gives: noWorkflow },
  },
  {
    ...{ tool: 'svc.workflow.promote', what: 'refuses one of another tenant', by: 'stranger' },
    args: async (at) => ({ name: (await at.workflow()).name, tenant_id: at.tenant }),
    gives: noWorkflow,
  },
];
