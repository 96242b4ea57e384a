import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { approvalActor } from '../../../actors/approval/definition.ts';
import { timeoutSeconds } from '../../../actors/approval/view.ts';
import { ActorDriver, type DrivenTurn } from '../../../runtime/testing/actor-driver.ts';

const ID = '6f1c3a52-0000-4000-8000-000000000001';
const ask = {
  approval_id: ID,
  execution_id: 'e-1',
  state_name: 'GATE',
  prompt: 'Ship it?',
  timeout_ms: 60_000,
  default_response: null,
  notify: { to: 'workflow/acme/e-1', as: 'ApprovalHeard', context: { state: 'GATE' } },
};
const yes = { payload: 'approved', feedback: 'fine', by: 'ada' };

function asked(more: object = {}): ActorDriver {
  const actor = new ActorDriver(approvalActor, 'acme', ID);
  actor.send('Ask', { ...ask, ...more });
  return actor;
}

const refusal = ({ reply }: DrivenTurn): string | undefined => (reply?.ok === false ? reply.code : undefined);
const words = ({ sends }: DrivenTurn) => sends.map(({ to, type, payload }) => ({ to, type, payload }));
const heard = (word: object) => ({
  to: 'workflow/acme/e-1',
  type: 'ApprovalHeard',
  payload: { approval_id: ID, context: { state: 'GATE' }, ...word },
});
const names = (actor: ActorDriver): string[] => actor.events.map(({ name }) => name);
const isDone = ({ state }: ActorDriver): boolean => approvalActor.done?.(approvalActor.state.parse(state)) === true;

describe('approval', () => {
  test('the asking actor receives the open approval, and then the answer with its own context', () => {
    const actor = asked();
    assert.deepEqual(words(actor.turns[0] ?? assert.fail()), [
      heard({ kind: 'opened', payload: null, feedback: null }),
    ]);
    assert.equal(isDone(actor), false);
    const turn = actor.send('Answer', yes);
    assert.deepEqual(words(turn), [heard({ kind: 'answered', payload: 'approved', feedback: 'fine' })]);
    assert.deepEqual(names(actor), ['ApprovalRequested', 'ApprovalAnswered']);
    assert.equal(isDone(actor), true);
    assert.equal(actor.timers.size, 0);
  });

  test('the first answer counts: every later one is a conflict and changes nothing', () => {
    const actor = asked();
    actor.send('Answer', yes);
    const before = actor.state;
    assert.equal(refusal(actor.send('Answer', { ...yes, payload: 'rejected' })), 'conflict');
    assert.equal(actor.state, before);
    assert.equal(actor.events.length, 2);
  });

  test('a repeated request for the same approval changes nothing, also after the answer', () => {
    const actor = asked();
    assert.deepEqual(actor.send('Ask', { ...ask, prompt: 'other' }).events, []);
    actor.send('Answer', yes);
    const again = actor.send('Ask', ask);
    assert.deepEqual([again.events, again.sends, refusal(again)], [[], [], undefined]);
  });

  test('the default response is applied when the timeout expires', () => {
    const actor = asked({ default_response: 'rejected' });
    assert.deepEqual(words(actor.fire('expiry')), [heard({ kind: 'expired', payload: 'rejected', feedback: null })]);
    assert.deepEqual(names(actor), ['ApprovalRequested', 'ApprovalExpired']);
    assert.equal(isDone(actor), true);
    assert.equal(refusal(actor.send('Answer', yes)), 'conflict');
  });

  test('without a default response the asking actor only receives the expiry', () => {
    assert.deepEqual(words(asked().fire('expiry')), [heard({ kind: 'expired', payload: null, feedback: null })]);
  });

  test('an answer counts until the last millisecond, also when the timer is late', () => {
    const early = asked();
    early.advance(59_999);
    assert.equal(refusal(early.send('Answer', yes)), undefined);
    const late = asked();
    late.advance(60_000);
    assert.equal(refusal(late.send('Answer', yes)), 'conflict');
    assert.equal(words(late.fire('expiry')).length, 1);
  });

  test('without a timeout it waits without end', () => {
    const actor = asked({ timeout_ms: null });
    assert.equal(actor.timers.size, 0);
    actor.advance(10 * 365 * 86_400_000);
    assert.equal(refusal(actor.send('Answer', yes)), undefined);
  });

  test('a withdrawn approval notifies no one and accepts no answer', () => {
    const actor = asked();
    assert.deepEqual(words(actor.send('Withdraw', {})), []);
    assert.deepEqual(names(actor), ['ApprovalRequested', 'ApprovalWithdrawn']);
    assert.equal(actor.timers.size, 0);
    assert.equal(refusal(actor.send('Answer', yes)), 'conflict');
    assert.deepEqual(actor.send('Withdraw', {}).events, []);
  });

  test('only a request creates an approval', () => {
    const actor = new ActorDriver(approvalActor, 'acme', ID);
    for (const [type, payload] of [
      ['Answer', yes],
      ['Withdraw', {}],
      ['Expired', {}],
    ] as const) {
      assert.equal(refusal(actor.send(type, payload)), 'not_found');
    }
  });

  test('seconds are never fewer than the time that is given', () => {
    assert.deepEqual([null, 1, 999, 1_000, 1_001].map(timeoutSeconds), [0, 1, 1, 1, 2]);
  });
});
