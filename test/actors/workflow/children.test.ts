import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../actors/workflow/limits.ts';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, RUN_ID, single, WORKFLOW_ID } from './driven-workflow.ts';
import { begun, CHILD, DETACHED, errorCode, record } from './one-state.ts';

test('a child is started with its input and ancestors, and its result and blackboard come back', () => {
  const run = begun({ ...CHILD, result_key: 'from_child' });
  const { kind, input } = run.effect.request;
  assert.equal(kind, 'workflow.start');
  assert.deepEqual([input.workflow, input.input, input.execution_id], ['child', { n: 1 }, run.awaitedId]);
  assert.deepEqual(input.ancestors, [{ workflow_id: WORKFLOW_ID, name: 'release', execution_id: RUN_ID }]);
  const id = run.awaitedId;
  run.childWord({ status: 'running' });
  run.done({ workflow_id: 'child-id', name: 'child' });
  assert.equal(run.payloads('SubworkflowTriggered').length, 1);
  run.childWord({ status: 'completed', output: { a: 1 }, blackboard: { b: 2 } });
  assert.deepEqual(record(run), { status: 'success', result: { a: 1 }, child_execution_id: id });
  assert.deepEqual(run.blackboard.from_child, { b: 2 });
  const names = ['SubworkflowTriggered', 'SubworkflowCompleted'];
  assert.deepEqual(
    run.names.filter((name) => name.startsWith('Sub')),
    names,
  );
});

test('a child whose blackboard has no room in its parent fails the state, which still names the child', () => {
  const run = begun({ ...CHILD, result_key: 'from_child' });
  const id = run.awaitedId;
  run.childWord({ status: 'completed', output: 1, blackboard: { big: 'x'.repeat(LIMITS.blackboardBytes) } });
  assert.equal(errorCode(run), 'blackboard_full');
  assert.equal(record(run).child_execution_id, id);
});

test('text that is no JSON is the childs input under the key input; none is an empty object', () => {
  for (const [input, expected] of [
    ['plain {{input.who}}', { input: 'plain ann' }],
    ['[1]', [1]],
    ['"x"', 'x'],
    ['', {}],
  ] as const) {
    assert.deepEqual(begun({ ...CHILD, input }).effect.request.input.input, expected);
  }
});

test('a child that fails, is cancelled or is missing fails the state with its reason', () => {
  const failed = begun(CHILD);
  failed.childWord({ status: 'failed', reason: 'no_transition_matched', error: 'state X' });
  assert.equal(errorCode(failed), 'no_transition_matched');
  const cancelled = begun(CHILD);
  cancelled.childWord({ status: 'cancelled', reason: 'an operator' });
  assert.deepEqual(toJson(record(cancelled).error), {
    code: 'cancelled',
    message: 'the child workflow was cancelled',
  });
  const missing = begun(CHILD);
  missing.fail('not_found', 'workflow "child" is not deployed in this tenant');
  assert.equal(errorCode(missing), 'not_found');
  assert.equal(missing.payloads('SubworkflowFailed')[0]?.reason, 'not_found');
});

test('fire_and_forget goes on when the child runs and its start is settled, in either order', () => {
  for (const wordFirst of [true, false]) {
    const run = begun(DETACHED);
    const id = run.awaitedId;
    if (wordFirst) run.childWord({ status: 'running' });
    else run.done({ workflow_id: 'child-id', name: 'child' });
    assert.deepEqual(run.path, ['STEP']);
    if (wordFirst) run.done({ workflow_id: 'child-id', name: 'child' });
    else run.childWord({ status: 'running' });
    assert.deepEqual(record(run), { status: 'success', child_execution_id: id });
    run.childWord({ status: 'failed', reason: 'x' }, id);
    assert.equal(run.told.length, 0);
    assert.equal(run.status, 'completed');
  }
});

test('an eleventh level of children is refused, the tenth is not', () => {
  const ancestors = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ workflow_id: `w${n}`, name: `n${n}`, execution_id: `e${n}` }));
  const tenth = new DrivenWorkflow();
  tenth.start(single(CHILD), { ancestors: ancestors(9) });
  assert.equal(tenth.effect.request.kind, 'workflow.start');
  const eleventh = new DrivenWorkflow();
  eleventh.start(single(CHILD), { ancestors: ancestors(10) });
  assert.equal(errorCode(eleventh), 'SubworkflowDepthExceeded');
  assert.equal(eleventh.effects.size, 0);
});

test('a child that is among its own ancestors is refused and cancelled, and the cycle is named', () => {
  const run = new DrivenWorkflow();
  run.start(single(CHILD), { ancestors: [{ workflow_id: 'top', name: 'top-flow', execution_id: 'e' }] });
  const id = run.awaitedId;
  run.done({ workflow_id: 'top', name: 'top-flow' });
  assert.equal(errorCode(run), 'SubworkflowCycleDetected');
  assert.match(String(toJson(record(run).error).message), /top-flow -> release -> top-flow/);
  assert.deepEqual(
    run.told.map(({ to, type }) => [to, type]),
    [[`workflow/acme/${id}`, 'Cancel']],
  );
  const byEffect = new DrivenWorkflow();
  byEffect.start(single(CHILD));
  byEffect.fail('failed_precondition', 'SubworkflowCycleDetected: release -> release');
  assert.equal(errorCode(byEffect), 'SubworkflowCycleDetected');
});
