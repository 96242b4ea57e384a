import assert from 'node:assert/strict';
import { waitUntil } from '../../support/wait-until.ts';
import { has, listOf, noRun, noWorkflow, type Row } from './row.ts';
import type { Args, Setting } from './setting.ts';

const unknownRun = (at: Setting): Args => ({ execution_id: at.unknown });
const word =
  (name: string, error: RegExp): Row['gives'] =>
  (result) => {
    assert.equal(result[name], false);
    assert.match(String(result.error), error);
  };

/** svc.workflow.*, as far as they are about executions (W35). */
export const WORKFLOW_RUN_ROWS: readonly Row[] = [
  {
    ...{ tool: 'svc.workflow.run', what: 'starts by name' },
    args: async (at) => ({ name: (await at.workflow()).name, intent: 'a test', blackboard: { a: 1 } }),
    gives: has({ status: 'started' }),
  },
  {
    ...{ tool: 'svc.workflow.run', what: 'hands over goal, input and blackboard' },
    args: async (at) => ({
      ...{ name: (await at.workflow()).workflow_id, intent: 'a goal' },
      ...{ input: { word: 'hello' }, blackboard: { there: [1] } },
    }),
    gives: async ({ execution_id }, _args, at) => {
      await at.ok('svc.workflow.wait', { execution_id });
      const { intent, input, blackboard } = await at.ok('svc.workflow.executions.get', { execution_id });
      assert.deepEqual([intent, input, Object(blackboard).there], ['a goal', { word: 'hello' }, [1]]);
    },
  },
  ...(
    [
      ['starts the version that is asked for', { version: '1.0.0' }, '1.0.0'],
      ['starts the latest version where none is asked for', {}, '1.1.0'],
    ] as const
  ).map(
    ([what, more, version]): Row => ({
      ...{ tool: 'svc.workflow.run', what },
      args: async (at) => {
        const { name } = await at.workflow();
        await at.ok('svc.workflow.update', { manifest_yaml: at.workflowYaml(name, '1.1.0') });
        return { name, ...more };
      },
      gives: async ({ execution_id }, _args, at) => {
        const { workflow_version } = await at.ok('svc.workflow.executions.get', { execution_id });
        assert.equal(workflow_version, version);
      },
    }),
  ),
  {
    ...{ tool: 'svc.workflow.run', what: 'refuses an unknown version' },
    args: async (at) => ({ name: (await at.workflow()).name, version: '9.9.9' }),
    gives: ['not_found', /version/],
  },
  {
    ...{ tool: 'svc.workflow.run', what: 'refuses an input that is not what the workflow takes' },
    args: async (at) => {
      const input_schema = { type: 'object', required: ['word'], properties: { word: { type: 'string' } } };
      return { name: (await at.workflow({ input_schema })).name, input: { word: 1 } };
    },
    gives: ['validation_failed', /word/],
    leaves: async ({ name }, at) => {
      const { executions } = await at.ok('svc.workflow.executions.list', { workflow_id: name });
      assert.deepEqual(executions, [], 'nothing was started');
    },
  },
  { tool: 'svc.workflow.run', what: 'refuses an unknown name', args: { name: 'nothing' }, gives: noWorkflow },
  {
    ...{ tool: 'svc.workflow.run', what: 'starts nothing for a caller of another tenant', by: 'stranger' },
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
    ...{ tool: 'svc.workflow.executions.list', what: 'lists by name and by pages, newest first' },
    args: async (at) => {
      const { name } = await at.workflow();
      for (let count = 1; count <= 3; count += 1) {
        const { execution_id } = await at.ok('svc.workflow.run', { name });
        await waitUntil('it is listed', async () => {
          const { executions } = await at.ok('svc.workflow.executions.list', { workflow_id: name, limit: 1 });
          return listOf(executions)[0]?.execution_id === execution_id;
        });
      }
      return { workflow_id: name, limit: 1, offset: 1, tenant_id: at.tenant };
    },
    gives: async ({ executions, total, limit, offset }, { workflow_id }, at) => {
      assert.deepEqual([total, limit, offset], [3, 1, 1]);
      const whole = listOf((await at.ok('svc.workflow.executions.list', { workflow_id })).executions);
      assert.deepEqual(
        listOf(executions).map(({ execution_id }) => execution_id),
        [whole[1]?.execution_id],
      );
      const started = whole.map(({ started_at }) => String(started_at));
      assert.deepEqual(started, started.toSorted().toReversed());
    },
  },
  {
    ...{ tool: 'svc.workflow.executions.list', what: 'is empty for an unknown workflow' },
    ...{ args: { workflow_id: 'nothing' }, gives: has({ executions: [], total: 0 }) },
  },
  {
    ...{
      tool: 'svc.workflow.executions.list',
      what: 'shows a caller of another tenant its own objects alone',
      by: 'stranger',
    },
    ...{ args: {}, gives: has({ executions: [], total: 0 }) },
  },
  {
    ...{ tool: 'svc.workflow.executions.list', what: 'refuses another tenant', by: 'stranger' },
    args: (at) => ({ tenant_id: at.tenant }),
    gives: ['not_found', /tenant not found/],
  },
  {
    ...{ tool: 'svc.workflow.executions.get', what: 'shows input, blackboard and outputs' },
    args: async (at) => ({ execution_id: await at.endedRun(), tenant_id: at.tenant }),
    gives: (result) => {
      assert.deepEqual([result.status, result.input], ['completed', { word: 'hello' }]);
      assert.equal(Object(result.blackboard).seen, 'hello');
      assert.deepEqual(Object.keys(Object(result.state_outputs)), ['END']);
    },
  },
  ...['svc.workflow.executions.get', 'svc.workflow.status', 'svc.workflow.wait', 'svc.workflow.logs'].flatMap(
    (tool): Row[] => [
      { tool, what: 'refuses an unknown id', args: unknownRun, gives: noRun },
      {
        ...{ tool, what: 'shows a caller of another tenant nothing', by: 'stranger' },
        args: async (at) => ({ execution_id: await at.endedRun() }),
        gives: noRun,
      },
    ],
  ),
  ...['svc.workflow.executions.get', 'svc.workflow.status'].flatMap((tool): Row[] => [
    {
      ...{ tool, what: 'shows a caller nothing of another tenant that it names', by: 'stranger' },
      args: async (at) => ({ execution_id: await at.endedRun(), tenant_id: at.tenant }),
      gives: noRun,
    },
    {
      ...{ tool, what: 'shows a service account what is in the tenant it names', by: 'service' },
      args: async (at) => ({ execution_id: await at.endedRun(), tenant_id: at.tenant }),
      gives: has({ status: 'completed' }),
    },
  ]),
  {
    ...{ tool: 'svc.workflow.status', what: 'shows the status' },
    args: async (at) => ({ execution_id: await at.waitingRun(), tenant_id: at.tenant }),
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
    ...{ tool: 'svc.workflow.logs', what: 'caps what is above the cap' },
    args: async (at) => ({ execution_id: await at.endedRun(), limit: 5_000 }),
    gives: ({ events, total, limit, offset }) =>
      assert.deepEqual([limit, offset, listOf(events).length], [200, 0, total]),
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
    ...{ tool: 'svc.workflow.signal', what: 'says false when it waits for no person' },
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
      ...{ tool, what: 'answers a caller of another tenant the same', by: 'stranger' },
      args: async (at) => ({ execution_id: await at.waitingRun(), ...more }),
      gives: word(name, /^workflow execution not found$/),
    },
  ]),
];
