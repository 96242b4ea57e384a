import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stimulusActor } from '../../../actors/stimulus/definition.ts';
import { StimulusState } from '../../../actors/stimulus/messages.ts';
import { projectStimulus } from '../../../actors/stimulus/view.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { Json } from '../../../runtime/json.ts';
import { ActorDriver, type DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { duplicateOf } from '../../../usecases/stimuli.ts';

const DAY_MS = 86_400_000;
const router = { kind: 'router', agent: 'router', threshold: 0.7, timeout_ms: 30_000 };
const direct = { kind: 'direct', workflow: 'deploy' };
const identity: Identity = { kind: 'tenant_user', subject: 'a', tenant: 'acme', roles: [], tier: 'free' };

/** The driver's client has no identity of its own, so its deliveries get one here. */
class StimulusDriver extends ActorDriver {
  constructor() {
    const { Receive } = stimulusActor.on;
    const received: typeof Receive = (state, message, turn) =>
      Receive(state, message, Object.assign(turn, { identity }));
    super({ ...stimulusActor, on: { ...stimulusActor.on, Receive: received } }, 'acme', 'a'.repeat(64));
  }
}

const receive = (routing: Json) => ({
  source: 'mail',
  content: 'x',
  headers: { 'x-event': 'push' },
  window_ms: DAY_MS,
  routing,
});
const refused = ({ reply }: DrivenTurn) => (reply?.ok === false ? reply.code : undefined);
const names = (actor: ActorDriver): string[] => actor.events.map(({ name }) => name);
const stateOf = (actor: ActorDriver) => StimulusState.parse(actor.state);

function received(routing: Json): StimulusDriver {
  const actor = new StimulusDriver();
  actor.send('Receive', receive(routing));
  return actor;
}

/** The result of the effect that is open now. */
function settle(actor: ActorDriver, outcome: Json): DrivenTurn {
  const [effect] = [...actor.effects.values()].slice(-1);
  if (effect === undefined) assert.fail('no effect is open');
  const { kind, replyAs, context = null } = effect.request;
  actor.effects.delete(effect.id);
  return actor.send(replyAs, { effectId: effect.id, kind, attempt: 1, context, outcome });
}
const started = { kind: 'done', value: { workflow_id: 'w-1', name: 'deploy' } };
const failed = (code: string) => ({ kind: 'failed', code, message: 'because' });

/** A message of the router agent that was asked last. */
function said(actor: ActorDriver, word: object, executionId?: string): DrivenTurn {
  const state = stateOf(actor);
  const own = state.status === 'classifying' ? state.router_execution_id : 'e-0';
  const stimulusId = state.status === 'new' ? '' : state.delivery.stimulus_id;
  const rest = { agent_id: 'r', output: null, reason: null, error: null, iterations: 1, score: 1 };
  const context = { stimulus_id: stimulusId };
  return actor.send('RouterSaid', { ...rest, execution_id: executionId ?? own, context, ...word });
}
const answer = (confidence: number) => JSON.stringify({ workflow: 'deploy', confidence, reasoning: '' });

describe('stimulus', () => {
  test('the first delivery starts its workflow once; a repeat is refused with the ids of the first', () => {
    const actor = received(direct);
    const [effect] = actor.effects.values();
    const { kind, mode, input } = effect?.request ?? assert.fail();
    assert.deepEqual([kind, mode, input.workflow, input.ancestors], ['workflow.start', 'repeatable', 'deploy', []]);
    for (const settled of [false, true]) {
      if (settled) settle(actor, started);
      const turn = actor.send('Receive', receive(direct));
      assert.equal(refused(turn), 'idempotent_duplicate');
      assert.equal(turn.effects.length, 0);
      const details = turn.reply?.ok === false ? turn.reply.details : null;
      const error = new SvcError('idempotent_duplicate', '', { details: JSON.parse(JSON.stringify(details)) });
      const state = stateOf(actor);
      assert.ok(state.status !== 'new');
      const { stimulus_id: original_stimulus_id, workflow_execution_id } = state.delivery;
      assert.deepEqual(duplicateOf(error), { original_stimulus_id, workflow_execution_id });
      assert.equal(input.execution_id, workflow_execution_id);
    }
    assert.deepEqual(names(actor), ['StimulusReceived', 'StimulusClassified']);
    const { routing_mode, confidence } = Object(actor.events[1]?.payload);
    assert.deepEqual([routing_mode, confidence], ['Deterministic', 1]);
  });

  test('a repeat that gets an answer gets the ids of the first delivery, and whether that has its workflow', () => {
    const actor = received(direct);
    const first = stateOf(actor);
    assert.ok(first.status !== 'new');
    const { stimulus_id, workflow_execution_id } = first.delivery;
    for (const said of [
      { after: 1, first: 'pending' },
      { after: 2, first: 'routed' },
    ]) {
      if (said.first === 'routed') settle(actor, started);
      const before = actor.state;
      const turn = actor.send('Receive', { ...receive(direct), window_ms: 9 * DAY_MS, repeat: 'answer' });
      assert.deepEqual(turn.reply, { ok: true, value: { stimulus_id, workflow_execution_id, ...said } });
      assert.deepEqual([turn.effects.length, actor.state], [0, before]);
    }
    // The window is that of the first one: a repeat makes it no longer.
    actor.advance(DAY_MS);
    const next = actor.send('Receive', { ...receive(direct), repeat: 'answer' });
    assert.notEqual(Object(next.reply?.ok === true ? next.reply.value : null).stimulus_id, stimulus_id);
  });

  test('a delivery that started nothing does not count as the first, also where repeats get an answer', () => {
    const actor = received(direct);
    settle(actor, failed('unavailable'));
    const again = actor.send('Receive', { ...receive(direct), repeat: 'answer' });
    assert.equal(Object(again.reply?.ok === true ? again.reply.value : null).first, undefined);
    assert.equal(stateOf(actor).status, 'starting');
  });

  test('a repeat counts as one until the last millisecond of 24 hours, also when the timer is late', () => {
    const actor = received(direct);
    settle(actor, started);
    actor.advance(DAY_MS - 1);
    assert.equal(refused(actor.send('Receive', receive(direct))), 'idempotent_duplicate');
    actor.advance(1);
    assert.equal(refused(actor.send('Receive', receive(direct))), undefined);
    assert.equal(stateOf(actor).status, 'starting');
  });

  test('after 24 hours a delivery is deleted; one that is still unsettled stays until it has settled', () => {
    const actor = received(direct);
    actor.fire('window');
    assert.equal(stateOf(actor).status, 'starting');
    settle(actor, started);
    actor.fire('window');
    const state = stateOf(actor);
    assert.deepEqual([state.status, stimulusActor.done?.(state)], ['over', true]);
    assert.equal(projectStimulus(state, { tenant: 'acme' })?.status, 'routed');
  });

  test('content and headers are kept only as long as the router may need them', () => {
    const actor = received(router);
    assert.match(JSON.stringify(actor.state), /"content":"x".*push/);
    said(actor, { status: 'completed', output: answer(1) });
    assert.doesNotMatch(JSON.stringify(actor.state), /"content"|push/);
  });

  test('a router agent that is too late is cancelled and its answer ignored', () => {
    const actor = received(router);
    const state = stateOf(actor);
    assert.ok(state.status === 'classifying');
    const turn = actor.fire('classification');
    assert.deepEqual(turn.cancelled, [state.effect_id]);
    const cancel = { to: `execution/acme/${state.router_execution_id}`, type: 'Cancel' };
    const sends = (of: DrivenTurn) => of.sends.map(({ to, type }) => ({ to, type }));
    assert.deepEqual(sends(turn), [cancel]);
    // Its start was under way: its report arrives when the stimulus no longer waits.
    assert.deepEqual(sends(said(actor, { status: 'running' }, state.router_execution_id)), [cancel]);
    said(actor, { status: 'completed', output: answer(1) }, state.router_execution_id);
    assert.deepEqual(names(actor), ['StimulusReceived', 'ClassificationFailed']);
    assert.equal(actor.effects.size, 0);
  });

  test('events and results of an earlier delivery have no effect on the next one', () => {
    const actor = received(router);
    const first = stateOf(actor);
    assert.ok(first.status === 'classifying');
    said(actor, { status: 'failed', reason: 'model_failed' });
    actor.send('Receive', receive(router));
    const second = stateOf(actor);
    assert.ok(second.status === 'classifying');
    const rest = { agent_id: 'r', reason: null, error: null, iterations: 1, score: 1, status: 'completed' };
    const context = { stimulus_id: first.delivery.stimulus_id };
    const late = { ...rest, output: answer(1), execution_id: first.router_execution_id, context };
    actor.send('RouterSaid', late);
    const result = { effectId: 'e', kind: 'agent.start', attempt: 1, context, outcome: failed('not_found') };
    actor.send('RouterStarted', result);
    actor.send('WorkflowStarted', { ...result, kind: 'workflow.start' });
    actor.send('ClassificationTimedOut', context);
    assert.deepEqual(stateOf(actor), second);
  });

  for (const code of ['validation_failed', 'payload_too_large'] as const)
    test(`the delivery, not the node, is at fault when no workflow starts for ${code}`, () => {
      const actor = received(direct);
      settle(actor, failed(code));
      const state = stateOf(actor);
      assert.ok(state.status === 'settled' && state.outcome.kind === 'rejected');
      assert.equal(state.outcome.code, code);
    });

  for (const [what, routing, code, event] of [
    ['an input that does not fit', direct, 'validation_failed', 'StimulusRejected'],
    ['an unknown workflow of the route', direct, 'not_found', 'StimulusRejected'],
    ['a workflow that cannot start', direct, 'unavailable', 'StimulusRejected'],
    ['an unknown workflow of the router', router, 'not_found', 'ClassificationFailed'],
  ] as const) {
    test(`${what} ends it with ${event}, and frees the key`, () => {
      const actor = received(routing);
      if (routing === router) said(actor, { status: 'completed', output: answer(0.7) });
      settle(actor, failed(code));
      assert.deepEqual(names(actor), ['StimulusReceived', event]);
      const again = actor.send('Receive', receive(routing));
      assert.equal(refused(again), undefined);
      assert.deepEqual(Object(again.reply?.ok === true ? again.reply.value : null).after, 2);
    });
  }

  test('only a delivery of a known caller creates a stimulus', () => {
    const actor = new ActorDriver(stimulusActor, 'acme', 'b'.repeat(64));
    assert.equal(refused(actor.send('Forget', {})), 'not_found');
    assert.equal(refused(actor.send('Receive', receive(direct))), 'forbidden');
  });
});
