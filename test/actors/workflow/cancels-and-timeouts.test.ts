import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../actors/workflow/limits.ts';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, manifestOf } from './driven-workflow.ts';
import { AGENT, begun, CHILD, CONTAINER, CONTAINERS, errorCode, KINDS, record, SYSTEM } from './one-state.ts';

/** Actors that a run must cancel when it leaves a state of this kind. */
const STOPPED: Readonly<Record<string, readonly string[]>> = {
  AGENT: ['execution', 'Cancel'],
  HUMAN: ['approval', 'Withdraw'],
  PANEL: ['judge-panel', 'Cancel'],
  CHILD: ['workflow', 'Cancel'],
  DETACHED: ['workflow', 'Cancel'],
};

/** Time in which a kind of state that ends its work by itself may report it. */
const GRACE: Readonly<Record<string, number>> = {
  SYSTEM: LIMITS.commandGraceMs,
  CONTAINER: LIMITS.containerGraceMs,
  CONTAINERS: LIMITS.containerGraceMs,
};

for (const [name, state] of Object.entries(KINDS)) {
  test(`a cancel reaches the effect that a state ${name} waits for, and ends the run`, () => {
    const run = begun(state);
    const turn = run.send('Cancel', { reason: 'enough' });
    assert.deepEqual(turn.reply, { ok: true, value: { cancelled: true } });
    assert.equal(run.status, 'cancelled');
    assert.equal(run.effects.size, 0);
    const told = turn.sends.map(({ to, type }) => [to.split('/')[0], type]);
    assert.deepEqual(told, STOPPED[name] === undefined ? [] : [STOPPED[name]]);
    assert.equal(run.names.at(-1), 'WorkflowExecutionCancelled');
    const again = run.send('Cancel', {});
    assert.equal(again.reply?.ok === false && again.reply.code, 'failed_precondition');
  });

  if (name === 'HUMAN') continue;
  test(`a state ${name} that times out cancels what it waits for and fails`, () => {
    const run = begun({ ...state, timeout: '7s' });
    const before = run.now;
    const turn = run.fire('state');
    assert.equal(run.now - before, 7_000 + (GRACE[name] ?? 0));
    assert.equal(errorCode(run), 'state_timed_out');
    const told = turn.sends.map(({ to, type }) => [to.split('/')[0], type]);
    assert.deepEqual(told, STOPPED[name] === undefined ? [] : [STOPPED[name]]);
    assert.equal(run.effects.size, 0);
    assert.deepEqual(run.path, ['STEP', 'BAD']);
    assert.equal(run.timers.size, 0);
  });
}

test('a state has a timeout of 300 s unless it sets another', () => {
  const run = begun(AGENT);
  assert.equal((run.timers.get('state')?.at ?? 0) - run.now, 300_000);
});

test('a command that times out ends itself and still returns what it wrote', () => {
  const run = begun({ ...SYSTEM, timeout: '7s' });
  assert.equal(run.effect.request.input.timeout_ms, 7_000);
  run.advance(7_100);
  run.exit(null, { timed_out: true, stdout: 'so far' });
  assert.equal(errorCode(run), 'state_timed_out');
  assert.equal(toJson(record(run).output).stdout, 'so far');
});

test('a container ends with the time of its state, and the state keeps what it wrote and its exit code', () => {
  const run = begun({ ...CONTAINER, timeout: '7s', retry: { max_attempts: 3 } });
  const { timeout_ms, within_ms } = run.effect.request.input;
  assert.deepEqual([timeout_ms, within_ms], [300_000, 7_000]);
  run.advance(7_200);
  run.exit(137, { timed_out: true, stdout: 'so far' });
  assert.deepEqual(toJson(record(run).error), { code: 'state_timed_out', message: 'it took longer than its 7000 ms' });
  const { exit_code, stdout } = toJson(record(run).output);
  assert.deepEqual([exit_code, stdout], [137, 'so far']);
  assert.deepEqual(run.payloads('ContainerRunFailed')[0]?.reason, 'state_timed_out: it took longer than its 7000 ms');
  assert.deepEqual([run.path, run.timers.size], [['STEP', 'BAD'], 0]);
});

test('with the defaults, 300 s for both, a container that hangs leaves its output', () => {
  const run = begun(CONTAINER);
  run.advance(300_200);
  run.exit(137, { timed_out: true, stdout: 'so far' });
  assert.equal(errorCode(run), 'state_timed_out');
  assert.equal(toJson(record(run).output).stdout, 'so far');
});

test('a container that its own limit ends is tried again, in the time that is left to the state', () => {
  const run = begun({ ...CONTAINER, timeout: '10s', resources: { timeout: '4s' }, retry: { max_attempts: 4 } });
  assert.equal(run.effect.request.input.within_ms, 10_000);
  run.advance(4_000);
  run.exit(137, { timed_out: true });
  assert.equal(run.effect.request.input.within_ms, 6_000);
  run.advance(4_000);
  run.exit(137, { timed_out: true });
  assert.deepEqual([run.effect.request.input.timeout_ms, run.effect.request.input.within_ms], [4_000, 2_000]);
  run.advance(2_000);
  run.exit(137, { timed_out: true, stdout: 'third' });
  assert.equal(errorCode(run), 'state_timed_out');
  assert.equal(toJson(record(run).output).stdout, 'third');
  assert.equal(run.effects.size, 0);
});

test('no attempt of a container begins after the time of its state', () => {
  const late = begun({ ...CONTAINER, timeout: '5s', retry: { max_attempts: 4 } });
  late.advance(5_100);
  late.exit(1, { stdout: 'last' });
  assert.deepEqual([errorCode(late), toJson(record(late).output).stdout], ['command_failed', 'last']);
  const paused = begun({ ...CONTAINER, timeout: '5s', retry: { max_attempts: 4, backoff: '6s' } });
  paused.exit(1);
  paused.fire('retry');
  assert.deepEqual([errorCode(paused), paused.effects.size], ['state_timed_out', 0]);
});

for (const completion of ['all_succeed', 'any_succeed', 'best_effort']) {
  test(`parallel steps of which one exceeds the time of the state time out with all their outputs (${completion})`, () => {
    const run = begun({ ...CONTAINERS, completion, timeout: '7s' });
    const [lint, check, scan] = [...run.effects.keys()];
    run.exit(0, { stdout: 'linted' }, lint);
    run.exit(0, {}, check);
    run.advance(7_100);
    run.exit(137, { timed_out: true, stdout: 'so far' }, scan);
    assert.equal(errorCode(run), 'state_timed_out');
    const output = toJson(record(run).output);
    assert.deepEqual([toJson(output.lint).stdout, toJson(output.scan).stdout], ['linted', 'so far']);
    assert.deepEqual(run.path, ['STEP', 'BAD']);
  });
}

test('parallel steps that ended before a time-out stay in the output', () => {
  const run = begun(CONTAINERS);
  run.exit(0, { stdout: 'linted' }, [...run.effects.keys()][0]);
  run.fire('state');
  assert.equal(toJson(toJson(record(run).output).lint).stdout, 'linted');
});

test('a child or agent that reports its start after it is no longer needed is cancelled, also after the end of the run', () => {
  for (const [state, kind] of [
    [AGENT, 'execution'],
    [CHILD, 'workflow'],
  ] as const) {
    const run = begun(state);
    const id = run.awaitedId;
    run.send('Cancel', {});
    const word = { status: 'running' };
    const turn = kind === 'execution' ? run.agentWord(word, id) : run.childWord(word, id);
    assert.deepEqual(
      turn.sends.map(({ to, type }) => [to, type]),
      [[`${kind}/acme/${id}`, 'Cancel']],
    );
    const ended = { status: 'completed', output: 'late' };
    const late = kind === 'execution' ? run.agentWord(ended, id) : run.childWord(ended, id);
    assert.equal(late.sends.length + late.events.length, 0);
  }
});

test('a start that failed in the end cancels the agent that it may have started', () => {
  const run = begun(AGENT);
  const id = run.awaitedId;
  const turn = run.fail('deadline_exceeded');
  assert.deepEqual(
    turn.sends.map(({ to, type }) => [to, type]),
    [[`execution/acme/${id}`, 'Cancel']],
  );
  assert.equal(errorCode(run), 'deadline_exceeded');
});

test('a state without transitions completes the run even when it failed', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ LAST: { ...SYSTEM, transitions: [] } }));
  run.exit(1);
  assert.equal(run.status, 'completed');
  assert.equal(toJson(run.blackboard.LAST).status, 'failed');
});

test('a failed state that no transition takes fails the run with its error', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ S: { ...SYSTEM, transitions: [{ condition: 'on_success', target: 'S' }] } }));
  run.exit(1);
  const [failed] = run.payloads('WorkflowExecutionFailed');
  assert.deepEqual([failed?.reason, failed?.state_name], ['command_failed', 'S']);
});
