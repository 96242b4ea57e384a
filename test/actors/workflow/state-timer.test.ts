import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { workflowActor } from '../../../actors/workflow/definition.ts';
import { LIMITS } from '../../../actors/workflow/limits.ts';
import { WorkflowState } from '../../../actors/workflow/state.ts';
import { type JsonObject, plainJson } from '../../../runtime/json.ts';
import { ActorDriver } from '../../../runtime/testing/actor-driver.ts';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, manifestOf, pure, RUN_ID, WORKFLOW_ID } from './driven-workflow.ts';
import { HUMAN } from './one-state.ts';

const FORK_ID = '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a99';

const command = (timeout: string, target: string): JsonObject => ({
  ...{ kind: 'System', command: 'make', timeout },
  transitions: [
    { condition: 'on_success', target },
    { condition: 'on_failure', target: 'BAD' },
  ],
});

/** Two commands, one behind the other, with these limits. */
function twoSteps(first: string, second: string, extra: JsonObject = {}): DrivenWorkflow {
  const run = new DrivenWorkflow();
  const states = {
    FIRST: command(first, 'SECOND'),
    SECOND: command(second, 'DONE'),
    DONE: pure('ok'),
    BAD: pure('bad'),
  };
  run.start(manifestOf(states), extra);
  return run;
}

const timer = (run: ActorDriver) => run.timers.get('state');
const limit = (ms: number): number => ms + LIMITS.commandGraceMs;

describe('the states of a run share a timer', () => {
  test('it stays pending from state to state and goes with the run', () => {
    const run = twoSteps('60s', '60s');
    const first = timer(run);
    assert.equal(first?.at, run.now + limit(60_000));
    run.advance(10_000);
    run.exit(0);
    assert.equal(run.current, 'SECOND');
    assert.equal(timer(run), first);
    run.exit(0);
    assert.equal(run.status, 'completed');
  });

  test('when it fires before the time of the current state is over, it is set again for the rest and then ends the state', () => {
    const run = twoSteps('60s', '60s');
    run.advance(10_000);
    run.exit(0);
    const began = run.now;
    const { events } = run.fire('state');
    assert.deepEqual([run.current, events, run.effects.size], ['SECOND', [], 1]);
    assert.equal(timer(run)?.at, began + limit(60_000));
    run.fire('state');
    assert.equal(toJson(toJson(run.blackboard.SECOND).error).code, 'state_timed_out');
    assert.deepEqual(run.path, ['FIRST', 'SECOND', 'BAD']);
  });

  test('a state whose time is over before it fires gets a timer of its own', () => {
    const run = twoSteps('60s', '5s');
    run.advance(10_000);
    run.exit(0);
    assert.equal(timer(run)?.at, run.now + limit(5_000));
    run.fire('state');
    assert.equal(toJson(toJson(run.blackboard.SECOND).error).code, 'state_timed_out');
  });

  test('the state behind one that timed out gets a timer of its own', () => {
    const run = new DrivenWorkflow();
    const again = { ...command('60s', 'FIRST'), transitions: [{ target: 'FIRST' }] };
    run.start(manifestOf({ FIRST: again }));
    run.fire('state');
    assert.deepEqual(run.path, ['FIRST', 'FIRST']);
    assert.equal(timer(run)?.at, run.now + limit(60_000));
  });

  test('none is pending while the run waits without a limit of its own', () => {
    const run = new DrivenWorkflow();
    const human = { ...HUMAN, transitions: [{ target: 'LAST' }] };
    run.start(manifestOf({ FIRST: command('60s', 'ASK'), ASK: human, LAST: command('60s', 'BAD'), BAD: pure('bad') }));
    run.exit(0);
    assert.equal(run.timers.size, 0);
    run.approvalWord('opened');
    run.approvalWord('answered', 'go');
    assert.equal(timer(run)?.at, run.now + limit(60_000));
  });

  test('a run of earlier rules has a timer for each state, as when it began', () => {
    const run = twoSteps('60s', '60s', { rules: 3 });
    const first = timer(run);
    run.advance(10_000);
    run.exit(0);
    assert.equal(timer(run)?.at, run.now + limit(60_000));
    assert.ok(run.view.status === 'running' && run.view.timer === undefined);
    // A late message of the first timer, which the kernel had already taken.
    const { events } = run.send('StateTimedOut', toJson(first?.payload), 'timer');
    assert.deepEqual([events, run.current], [[], 'SECOND']);
    run.fire('state');
    assert.equal(toJson(toJson(run.blackboard.SECOND).error).code, 'state_timed_out');
  });
});

test('a fork has the whole time of its state, whatever the shared timer of its original had left', () => {
  const original = twoSteps('60s', '120s');
  original.advance(10_000);
  original.exit(0);
  const fork = new ActorDriver(workflowActor(), 'acme', FORK_ID);
  fork.now = original.now + 3_600_000;
  const ids = { execution_id: FORK_ID, workflow_id: WORKFLOW_ID };
  const { view } = original;
  assert.ok(view.status === 'running');
  const [effect] = original.effects.values();
  fork.send('Fork', {
    ...{ ...ids, manifest: toJson(view.manifest), input: {}, changed: [] },
    work: {
      ...{ from: { id: RUN_ID, message_id: 'm' }, version: 6, state: plainJson(original.state) },
      events: original.events.map(({ name, payload }) => ({ name, payload })),
      timers: [...original.timers].map(([name, { type, payload }]) => ({ name, after_ms: 1, type, payload })),
      effects: [toJson(effect)],
      sent: [],
    },
  });
  assert.equal(timer(fork)?.at, fork.now + limit(120_000));
  fork.fire('state');
  const state = WorkflowState.parse(fork.state);
  assert.ok(state.status === 'completed');
  assert.equal(toJson(toJson(state.blackboard.SECOND).error).code, 'state_timed_out');
});
