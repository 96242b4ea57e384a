import assert from 'node:assert/strict';
import { AGENT_AUTHOR_ID, WORKFLOW_AUTHOR_ID } from '../../../catalog/built-in/api.ts';
import { noRun, type Row } from './row.ts';
import type { Args, Setting } from './setting.ts';

/** A pipeline whose model does not answer until the test ends. */
async function running(at: Setting): Promise<string> {
  const started = await at.ok('svc.execute.intent', { intent: `sleepy ${at.name()}` });
  return String(started.pipeline_execution_id);
}

const isStarted: Row['gives'] = async ({ pipeline_execution_id, ...rest }, _args, at) => {
  const stream_url = `/v1/workflows/executions/${pipeline_execution_id}/logs/stream`;
  assert.deepEqual(rest, { status: 'started', stream_url });
  assert.deepEqual(await at.ok('svc.execute.status', { pipeline_execution_id }), { status: 'running' });
};

const isWrittenBy =
  (author: string): Row['gives'] =>
  async ({ execution_id, ...rest }, _args, at) => {
    assert.deepEqual(rest, { status: 'started' });
    assert.equal((await at.ok('svc.task.status', { execution_id })).agent_id, author);
  };

const unknownVolume = (at: Setting): Args => ({ intent: 'sleepy', volume_id: at.unknown });

/** svc.agent.generate, svc.workflow.generate and svc.execute.* (W34, W35, W40). */
export const EXECUTE_ROWS: readonly Row[] = [
  {
    ...{ tool: 'svc.agent.generate', what: 'starts the author that ships with the product' },
    args: { input: 'sleepy' },
    gives: isWrittenBy(AGENT_AUTHOR_ID),
  },
  {
    ...{ tool: 'svc.workflow.generate', what: 'starts the author that ships with the product' },
    args: { input: 'sleepy' },
    gives: isWrittenBy(WORKFLOW_AUTHOR_ID),
  },
  { tool: 'svc.execute.intent', what: 'starts the pipeline', args: { intent: 'sleepy' }, gives: isStarted },
  {
    ...{ tool: 'svc.execute.intent', what: 'takes a language, inputs and a time' },
    args: { intent: 'sleepy', language: 'bash', inputs: { a: [1] }, timeout_seconds: 86_400 },
    gives: isStarted,
  },
  {
    ...{ tool: 'svc.execute.intent', what: 'refuses an unknown volume' },
    args: unknownVolume,
    gives: ['not_found', /volume/],
  },
  {
    ...{ tool: 'svc.execute.intent', what: 'lets no service use what is not its tenant’s', by: 'service' },
    args: unknownVolume,
    gives: ['not_found', /volume/],
  },
  { tool: 'svc.execute', what: 'starts the pipeline with its defaults', args: { prompt: 'sleepy' }, gives: isStarted },
  {
    ...{ tool: 'svc.execute.status', what: 'says that it runs' },
    args: async (at) => ({ pipeline_execution_id: await running(at) }),
    gives: (result) => assert.deepEqual(result, { status: 'running' }),
  },
  {
    ...{ tool: 'svc.execute.status', what: 'refuses an unknown id' },
    args: (at) => ({ pipeline_execution_id: at.unknown }),
    gives: noRun,
  },
  {
    ...{ tool: 'svc.execute.status', what: 'refuses a run of another workflow' },
    args: async (at) => ({ pipeline_execution_id: await at.endedRun() }),
    gives: ['not_found', /pipeline execution not found/],
  },
  {
    ...{ tool: 'svc.execute.status', what: 'shows a caller of another tenant nothing', by: 'stranger' },
    args: async (at) => ({ pipeline_execution_id: await running(at) }),
    gives: noRun,
  },
  {
    ...{ tool: 'svc.execute.status', what: 'says that a cancelled one has failed, and where' },
    args: async (at) => {
      const id = await running(at);
      await at.ok('svc.workflow.cancel', { execution_id: id });
      return { pipeline_execution_id: id };
    },
    gives: ({ status, reason, failed_at_state }) => {
      assert.equal(status, 'failed');
      assert.match(String(reason), /cancelled/);
      assert.match(String(failed_at_state), /^[A-Z_]+$/);
    },
  },
  {
    ...{ tool: 'svc.execute.wait', what: 'says that it goes on when its time is over' },
    args: async (at) => ({ execution_id: await running(at), poll_interval_seconds: 0, timeout_seconds: 0 }),
    gives: ({ status, timed_out }) => assert.deepEqual([status, timed_out], ['running', true]),
  },
  {
    ...{ tool: 'svc.execute.wait', what: 'refuses an unknown id' },
    args: (at) => ({ execution_id: at.unknown }),
    gives: noRun,
  },
  {
    ...{ tool: 'svc.execute.wait', what: 'shows a caller of another tenant nothing', by: 'stranger' },
    args: async (at) => ({ execution_id: await running(at) }),
    gives: noRun,
  },
];
