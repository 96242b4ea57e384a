import assert from 'node:assert/strict';
import { waitUntil } from '../../support/wait-until.ts';
import { has, listOf, noAgent, noTask, type Row } from './row.ts';
import type { Args, Setting } from './setting.ts';

const unknownTask = (at: Setting): Args => ({ execution_id: at.unknown });

/** svc.task.* and svc.agent.wait (W36). */
export const TASK_ROWS: readonly Row[] = [
  {
    ...{ tool: 'svc.task.execute', what: 'starts by name' },
    args: async (at) => ({ agent_id: (await at.agent()).name, intent: 'be quick', input: { a: 1 } }),
    gives: has({ status: 'started' }),
  },
  ...(
    [
      ['starts the version that is asked for', { version: '1.0.0' }, /score/],
      ['starts the latest version where none is asked for', {}, /^done$/],
    ] as const
  ).map(
    ([what, more, output]): Row => ({
      ...{ tool: 'svc.task.execute', what },
      args: async (at) => {
        const name = at.name();
        // By what the model answers to it.
        await at.ok('svc.agent.create', { manifest_yaml: at.agentYaml(name, '1.0.0', {}, 'refuse this {{input}}') });
        const { agent_id } = await at.ok('svc.agent.update', { manifest_yaml: at.agentYaml(name, '1.1.0') });
        return { agent_id, intent: 'a test', ...more };
      },
      gives: async ({ execution_id }, _args, at) => {
        const { last_output } = await at.ok('svc.task.wait', { execution_id });
        assert.match(String(last_output), output);
      },
    }),
  ),
  {
    ...{ tool: 'svc.task.execute', what: 'refuses a start that says nothing to an agent without an instruction' },
    args: async (at) => ({ agent_id: (await at.agent()).name }),
    gives: ['invalid_argument', /nothing to ask/],
  },
  {
    ...{ tool: 'svc.task.execute', what: 'refuses an unknown version' },
    args: async (at) => ({ agent_id: (await at.agent()).name, version: '9.9.9' }),
    gives: ['not_found', /version/],
  },
  { tool: 'svc.task.execute', what: 'refuses an unknown agent', args: { agent_id: 'nobody' }, gives: noAgent },
  {
    ...{ tool: 'svc.task.execute', what: 'starts nothing for a caller of another tenant', by: 'stranger' },
    args: async (at) => ({ agent_id: (await at.agent()).agent_id }),
    gives: noAgent,
  },
  {
    ...{ tool: 'svc.task.status', what: 'shows the status of an ended one' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: has({ status: 'completed', iteration_count: 1, last_output: 'done', last_error: null }),
  },
  {
    ...{ tool: 'svc.task.status', what: 'says that one runs' },
    args: async (at) => ({ execution_id: await at.runningTask() }),
    gives: has({ status: 'running', ended_at: null }),
  },
  { tool: 'svc.task.status', what: 'refuses an unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.task.status', what: 'shows a caller of another tenant nothing', by: 'stranger' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: noTask,
  },
  {
    ...{ tool: 'svc.trace.why', what: 'says that one has ended, and that it completed' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: (answer) => {
      assert.equal(answer.waiting, false);
      assert.match(String(answer.sentence), /^Run [0-9a-f]{8}… completed in iteration 1\.$/);
    },
  },
  {
    ...{ tool: 'svc.trace.why', what: 'says what a running one waits for' },
    args: async (at) => ({ execution_id: await at.runningTask() }),
    gives: (answer) => {
      assert.equal(answer.waiting, true);
      assert.match(String(answer.sentence), /waits in iteration 1 for its model/);
    },
  },
  {
    ...{ tool: 'svc.trace.why', what: 'explains a workflow run too' },
    args: async (at) => ({ execution_id: await at.endedRun() }),
    gives: (answer) => assert.match(String(answer.sentence), /^Run [0-9a-f]{8}… completed\.$/),
  },
  {
    ...{ tool: 'svc.trace.get', what: 'shows the messages and effects of a run, page by page' },
    args: async (at) => {
      const execution_id = await at.endedTask();
      const first = await waitUntil('its trace is in the ledger', () =>
        at.ok('svc.trace.get', { execution_id, limit: 1 }).catch(() => null),
      );
      return { execution_id, limit: 2, next: first.next };
    },
    gives: (answer) => {
      assert.match(String(answer.trace_id), /^[0-9a-f]{32}$/);
      assert.ok(listOf(answer.deliveries).length <= 2);
    },
  },
  {
    ...{ tool: 'svc.trace.get', what: 'shows a trace that links name' },
    args: async (at) => {
      const execution_id = await at.endedTask();
      const first = await waitUntil('its trace is in the ledger', () =>
        at.ok('svc.trace.get', { execution_id, limit: 1 }).catch(() => null),
      );
      return { execution_id, trace_id: first.trace_id, limit: 2 };
    },
    gives: (answer) => {
      assert.equal(listOf(answer.deliveries)[0]?.message_id, answer.root);
    },
  },
  { tool: 'svc.trace.get', what: 'refuses an unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.trace.get', what: 'shows a caller of another tenant nothing', by: 'stranger' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: noTask,
  },
  { tool: 'svc.trace.why', what: 'refuses an unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.trace.why', what: 'shows a caller of another tenant nothing', by: 'stranger' },
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
      args: async (at) => ({ execution_id: await at.runningTask(), poll_interval_seconds: 1, timeout_seconds: 1 }),
      gives: has({ status: 'timed_out', ended_at: null }),
    },
    { tool, what: 'refuses an unknown id', args: unknownTask, gives: noTask },
    {
      ...{ tool, what: 'lets a caller of another tenant wait for nothing', by: 'stranger' },
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
    ...{ tool: 'svc.task.list', what: 'lists the newest ones, as many as are asked for' },
    args: async (at) => {
      const { agent_id, name } = await at.agent();
      let newest: unknown;
      for (const intent of ['one', 'two', 'three']) {
        newest = (await at.ok('svc.task.execute', { agent_id, intent })).execution_id;
        await waitUntil('it is listed', async () => {
          const { executions } = await at.ok('svc.task.list', { agent_id, limit: 1 });
          return listOf(executions)[0]?.id === newest;
        });
      }
      return { agent_id: name, limit: 2 };
    },
    gives: async ({ executions }, { agent_id }, at) => {
      const whole = listOf((await at.ok('svc.task.list', { agent_id })).executions);
      assert.deepEqual(
        listOf(executions).map(({ id }) => id),
        whole.slice(0, 2).map(({ id }) => id),
      );
      assert.equal(whole.length, 3);
    },
  },
  {
    tool: 'svc.task.list',
    what: 'is empty for an unknown agent',
    args: { agent_id: 'no' },
    gives: has({ executions: [] }),
  },
  {
    ...{ tool: 'svc.task.list', what: 'shows a caller of another tenant its own objects alone', by: 'stranger' },
    args: async (at) => {
      await at.endedTask();
      return { limit: 20 };
    },
    gives: async ({ executions }, _args, at) => {
      const others = listOf((await at.ok('svc.task.list', { limit: 20 })).executions).map(({ id }) => id);
      assert.ok(!listOf(executions).some(({ id }) => others.includes(id)));
    },
  },
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
  {
    ...{ tool: 'svc.task.logs', what: 'caps what is above the cap' },
    args: async (at) => ({ execution_id: await at.endedTask(), limit: 5_000 }),
    gives: ({ events, total, limit, offset }) =>
      assert.deepEqual([limit, offset, listOf(events).length], [200, 0, total]),
  },
  { tool: 'svc.task.logs', what: 'refuses an unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.task.logs', what: 'shows a caller of another tenant nothing', by: 'stranger' },
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
  { tool: 'svc.task.cancel', what: 'refuses an unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.task.cancel', what: 'lets a caller of another tenant cancel nothing', by: 'stranger' },
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
  { tool: 'svc.task.remove', what: 'refuses an unknown id', args: unknownTask, gives: noTask },
  {
    ...{ tool: 'svc.task.remove', what: 'lets a caller of another tenant remove nothing', by: 'stranger' },
    args: async (at) => ({ execution_id: await at.endedTask() }),
    gives: noTask,
  },
];
