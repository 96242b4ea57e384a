import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../../../runtime/json.ts';
import { DrivenWorkflow, manifestOf, pure, RUN_ID } from './driven-workflow.ts';

const pipeline = { language: 'python', workspace_volume_id: null, agent_similarity_score: 0.9 };
const command = { kind: 'System', command: 'run me', transitions: [{ condition: 'on_success', target: 'END' }] };
const end = (reused: string) => ({
  kind: 'System',
  command: 'finalize',
  env: { final_result: '42', reused_existing_agent: reused },
  transitions: [],
});

function started(states: JsonObject, extra: JsonObject = {}): DrivenWorkflow {
  const run = new DrivenWorkflow();
  run.start(manifestOf(states), { intent: 'add', pipeline, ...extra });
  return run;
}

describe('a run that is an intent pipeline', () => {
  test('a pipeline records its begin and its outcome inside the events of every run', () => {
    const run = started({ WORK: command, END: end('yes') });
    run.exit(0);
    assert.deepEqual(run.names.slice(0, 2), ['WorkflowExecutionStarted', 'IntentExecutionPipelineStarted']);
    assert.deepEqual(run.names.slice(-2), ['IntentExecutionPipelineCompleted', 'WorkflowExecutionCompleted']);
    const [{ started_at: _at, ...began } = {}] = run.payloads('IntentExecutionPipelineStarted');
    assert.deepEqual(began, { execution_id: RUN_ID, intent: 'add', language: 'python', workspace_volume_id: null });
    const [{ completed_at: _end, duration_ms, ...done } = {}] = run.payloads('IntentExecutionPipelineCompleted');
    const expected = { execution_id: RUN_ID, final_result: '42', reused_existing_agent: true };
    assert.deepEqual(done, { ...expected, agent_similarity_score: 0.9 });
    assert.ok(Number(duration_ms) >= 0);
  });

  test('a pipeline has no score of an agent that was not chosen', () => {
    const run = started({ END: end('no') });
    const [done] = run.payloads('IntentExecutionPipelineCompleted');
    assert.equal(done?.reused_existing_agent, false);
    assert.equal(done !== undefined && 'agent_similarity_score' in done, false);
  });

  test('has failed when its run has, and when it was cancelled, with the state it was in', () => {
    const failed = started({ WORK: command, END: end('no') });
    failed.exit(3);
    assert.deepEqual(failed.names.slice(-2), ['IntentExecutionPipelineFailed', 'WorkflowExecutionFailed']);
    const cancelled = started({ WORK: command, END: end('no') });
    cancelled.send('Cancel', { reason: 'enough' });
    assert.deepEqual(cancelled.names.slice(-2), ['IntentExecutionPipelineFailed', 'WorkflowExecutionCancelled']);
    const told = [failed, cancelled].map((run) => {
      const [{ failed_at_state, reason } = {}] = run.payloads('IntentExecutionPipelineFailed');
      return [failed_at_state, reason];
    });
    assert.deepEqual(told, [
      ['WORK', 'command_failed'],
      ['WORK', 'enough'],
    ]);
  });

  test('a pipeline records the beginning of long texts; other runs have no such events', () => {
    const long = started({ END: end('no') }, { intent: 'x'.repeat(100_000) });
    const [began] = long.payloads('IntentExecutionPipelineStarted');
    assert.ok(String(began?.intent).length < 5_000);
    const plain = new DrivenWorkflow();
    plain.start(manifestOf({ END: pure('ok') }));
    assert.ok(
      plain.names.every((name) => !name.startsWith('Intent')),
      plain.names.join(),
    );
  });
});
