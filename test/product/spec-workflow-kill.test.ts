import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { BY_STATUS, ENDS, finalize, SpecWorkflowNode } from './spec-workflow-node.ts';

const linesOf = async (file: string): Promise<number> =>
  readFile(file, 'utf8').then(
    (text) => text.split('\n').length - 1,
    () => 0,
  );

describe('a node killed with kill -9 in the middle of workflows', { timeout: 300_000 }, () => {
  let scene: SpecWorkflowNode;
  before(async () => {
    scene = await SpecWorkflowNode.start();
  });
  after(() => scene[Symbol.asyncDispose]());

  test('a node killed while a run waits for a human, a child and a command loses nothing', async () => {
    const command = {
      STEP: {
        kind: 'System',
        // The second time it ends at once.
        command: 'echo >> trace; [ "$(wc -l < trace)" -gt 1 ] || sleep 120',
        transitions: BY_STATUS,
      },
      ...ENDS,
    };
    const ask = {
      ASK: { kind: 'Human', prompt: 'Go on?', transitions: [{ condition: 'input_equals_yes', target: 'DONE' }] },
      DONE: finalize({ said: '{{human.feedback}}' }),
    };
    const timed = { ...ask, ASK: { ...ask.ASK, timeout: '2s', default_response: 'yes' } };
    await scene.deploy(ask, {}, { name: 'asks' });
    const child = { CALL: { kind: 'Subworkflow', workflow_id: 'asks', transitions: BY_STATUS }, ...ENDS };
    const annotated = (policy: string) => ({ annotations: { 'svc.dev/on-in-doubt': policy } });
    const runs = {
      human: await scene.start('asks'),
      timed: await scene.start(await scene.deploy(timed)),
      parent: await scene.start(await scene.deploy(child)),
      fails: await scene.start(await scene.deploy(command, {}, annotated('fail'))),
      retries: await scene.start(await scene.deploy(command, {}, annotated('retry'))),
      asks: await scene.start(await scene.deploy(command, {}, annotated('ask'))),
    };
    const commands = [runs.fails, runs.retries, runs.asks];
    const timesOf = (id: string) => linesOf(join(scene.node.directory, 'data/volumes/svc-system', id, 'trace'));
    for (const id of commands) await waitUntil('each command to run', async () => (await timesOf(id)) === 1);
    const parent = await scene.until(runs.parent, 'to wait for its child', (run) => run.waiting_for !== undefined);
    const [childId = ''] = childrenOf(parent.waiting_for);
    await Promise.all([runs.human, childId].map((id) => scene.approvalOf(id)));

    await scene.node.process.kill('SIGKILL');
    await scene.node.spawn();

    // No one answered, but the time went on.
    assert.deepEqual((await scene.ended(runs.timed)).output, { said: 'yes' });
    const failed = await scene.ended(runs.fails);
    assert.deepEqual([failed.current_state, Object(failed.state_outputs.STEP).error?.code], ['FAILED', 'in_doubt']);
    const retried = await scene.ended(runs.retries);
    assert.equal(retried.current_state, 'DONE');
    const { events } = await scene.logs(runs.retries);
    assert.equal(events.filter(({ event_type }) => event_type === 'WorkflowStepRepeated').length, 1);
    for (const id of [runs.human, childId, runs.asks]) {
      const approval = await scene.approvalOf(id);
      const answer = await scene.node.json('POST', `/v1/human-approvals/${approval}/approve`, { feedback: 'go' });
      assert.equal(answer.status, 200, answer.text);
    }
    assert.deepEqual((await scene.ended(runs.human)).output, { said: 'go' });
    assert.equal((await scene.ended(runs.parent)).current_state, 'DONE');
    assert.equal((await scene.ended(runs.asks)).current_state, 'DONE');
    assert.deepEqual(await Promise.all(commands.map(timesOf)), [1, 2, 2]);
  });
});

const childrenOf = (waiting: unknown): string[] =>
  typeof waiting === 'object' && waiting !== null && 'child_execution_ids' in waiting
    ? [waiting.child_execution_ids].flat().map(String)
    : [];
