import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../actors/workflow/limits.ts';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, manifestOf, single } from './driven-workflow.ts';

const SYSTEM = { kind: 'System', command: 'deploy {{input.who}}' };
const DOUBT = { kind: 'in_doubt' };

function inDoubt(annotations: Record<string, string> = {}): DrivenWorkflow {
  const run = new DrivenWorkflow();
  run.start(single(SYSTEM, { annotations }));
  run.result(DOUBT);
  return run;
}

const errorCode = (run: DrivenWorkflow) => toJson(toJson(run.blackboard.STEP).error).code;

test('a command in doubt is never repeated unless a policy or a person says so', () => {
  const run = inDoubt();
  assert.equal(errorCode(run), 'in_doubt');
  assert.equal(run.effects.size, 0);
  assert.deepEqual(run.path, ['STEP', 'BAD']);
});

test('policy retry repeats the command with an event for each repeat, three times at most', () => {
  const run = inDoubt({ 'svc.dev/on-in-doubt': 'retry' });
  for (let repeat = 1; repeat <= 3; repeat += 1) {
    assert.deepEqual([run.effect.request.kind, run.effect.request.input.command], ['command.run', 'deploy ann']);
    const told = run.payloads('WorkflowStepRepeated').at(-1);
    assert.deepEqual([told?.repeat, told?.by], [repeat, 'policy']);
    run.result(DOUBT);
  }
  assert.equal(errorCode(run), 'in_doubt');
  assert.match(String(toJson(toJson(run.blackboard.STEP).error).message), /4 times/);
});

test('a repeated command that ends continues the run as usual', () => {
  const run = inDoubt({ 'svc.dev/on-in-doubt': 'retry' });
  run.exit(0);
  assert.deepEqual(run.path, ['STEP', 'DONE']);
  const { view } = run;
  assert.equal(view.status !== 'pending' && view.in_doubt, 1);
});

test('the policy of a state wins over that of the workflow', () => {
  const run = inDoubt({ 'svc.dev/on-in-doubt': 'retry', 'svc.dev/on-in-doubt.STEP': 'fail' });
  assert.equal(errorCode(run), 'in_doubt');
  const other = inDoubt({ 'svc.dev/on-in-doubt.STEP': 'retry' });
  assert.equal(other.effects.size, 1);
});

test('policy ask waits for a person without a timeout; yes repeats the command with the whole timeout of the state', () => {
  const run = inDoubt({ 'svc.dev/on-in-doubt': 'ask' });
  const ask = toJson(run.told[0]?.payload);
  assert.deepEqual([run.told[0]?.type, ask.timeout_ms, ask.default_response], ['Ask', null, null]);
  assert.equal(run.timers.size, 0);
  run.approvalWord('opened');
  assert.equal(run.status, 'waiting_for_human_input');
  run.approvalWord('answered', ' Yes ');
  assert.equal(run.status, 'running');
  assert.equal(run.payloads('WorkflowStepRepeated')[0]?.by, 'human');
  assert.equal((run.timers.get('state')?.at ?? 0) - run.now, 300_000 + LIMITS.commandGraceMs);
  run.exit(0);
  assert.deepEqual(run.path, ['STEP', 'DONE']);
  assert.equal(run.blackboard.DONE !== undefined && run.view.status, 'completed');
});

test('anything but yes fails the state, and is no feedback of a Human state', () => {
  for (const answer of ['no', 'maybe', '']) {
    const run = inDoubt({ 'svc.dev/on-in-doubt': 'ask' });
    run.approvalWord('answered', answer);
    assert.equal(errorCode(run), 'in_doubt');
  }
});

test('a cancel while an approval is open withdraws it', () => {
  const run = inDoubt({ 'svc.dev/on-in-doubt': 'ask' });
  const { sends } = run.send('Cancel', {});
  assert.deepEqual(
    sends.map(({ type }) => type),
    ['Withdraw'],
  );
});

test('an unknown policy is refused at the start', () => {
  const run = new DrivenWorkflow();
  const annotations = { 'svc.dev/on-in-doubt.STEP': 'often' };
  const { reply } = run.start(manifestOf({ STEP: { ...SYSTEM, transitions: [] } }, { annotations }));
  assert.equal(reply?.ok === false && reply.code, 'invalid_manifest');
});
