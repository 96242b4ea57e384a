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
  let setup: SpecWorkflowNode;
  before(async () => {
    setup = await SpecWorkflowNode.start();
  });
  after(() => setup[Symbol.asyncDispose]());

  test('a node killed while a run waits for a human, a child and a command loses nothing', async () => {
    const command = {
      STEP: {
        kind: 'System',
        // On its second run it ends at once.
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
    await setup.deploy(ask, {}, { name: 'asks' });
    const child = { CALL: { kind: 'Subworkflow', workflow_id: 'asks', transitions: BY_STATUS }, ...ENDS };
    const annotated = (policy: string) => ({ annotations: { 'svc.dev/on-in-doubt': policy } });
    const runs = {
      human: await setup.start('asks'),
      timed: await setup.start(await setup.deploy(timed)),
      parent: await setup.start(await setup.deploy(child)),
      fails: await setup.start(await setup.deploy(command, {}, annotated('fail'))),
      retries: await setup.start(await setup.deploy(command, {}, annotated('retry'))),
      asks: await setup.start(await setup.deploy(command, {}, annotated('ask'))),
    };
    const commands = [runs.fails, runs.retries, runs.asks];
    const timesOf = (id: string) => linesOf(join(setup.node.directory, 'data/volumes/svc-system', id, 'trace'));
    for (const id of commands) await waitUntil('each command to run', async () => (await timesOf(id)) === 1);
    const parent = await setup.until(runs.parent, 'to wait for its child', (run) => run.waiting_for !== undefined);
    const [childId = ''] = childrenOf(parent.waiting_for);
    await Promise.all([runs.human, childId].map((id) => setup.approvalOf(id)));

    await setup.node.process.kill('SIGKILL');
    await setup.node.spawn();

    // It was not answered, but its time-out counted on.
    assert.deepEqual((await setup.ended(runs.timed)).output, { said: 'yes' });
    const failed = await setup.ended(runs.fails);
    assert.deepEqual([failed.current_state, Object(failed.state_outputs.STEP).error?.code], ['FAILED', 'in_doubt']);
    const retried = await setup.ended(runs.retries);
    assert.equal(retried.current_state, 'DONE');
    const { events } = await setup.logs(runs.retries);
    assert.equal(events.filter(({ event_type }) => event_type === 'WorkflowStepRepeated').length, 1);
    for (const id of [runs.human, childId, runs.asks]) {
      const approval = await setup.approvalOf(id);
      const answer = await setup.node.json('POST', `/v1/human-approvals/${approval}/approve`, { feedback: 'go' });
      assert.equal(answer.status, 200, answer.text);
    }
    assert.deepEqual((await setup.ended(runs.human)).output, { said: 'go' });
    assert.equal((await setup.ended(runs.parent)).current_state, 'DONE');
    assert.equal((await setup.ended(runs.asks)).current_state, 'DONE');
    assert.deepEqual(await Promise.all(commands.map(timesOf)), [1, 2, 2]);
  });
});

const childrenOf = (waiting: unknown): string[] =>
  typeof waiting === 'object' && waiting !== null && 'child_execution_ids' in waiting
    ? [waiting.child_execution_ids].flat().map(String)
    : [];
