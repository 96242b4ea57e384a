import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DrivenWorkflow, manifestOf, pure, RUN_ID, toJson, WORKFLOW_ID } from './rig.ts';

const chain = (length: number) =>
  manifestOf(
    Object.fromEntries(
      Array.from({ length }, (_, n) => [`S${n}`, pure(`${n}`, n + 1 < length ? [{ target: `S${n + 1}` }] : [])]),
    ),
  );

test('five built-in steps run to completion in the one turn of Start', () => {
  const run = new DrivenWorkflow();
  const turn = run.start(chain(5));
  assert.deepEqual(turn.reply, { ok: true, value: { execution_id: RUN_ID, status: 'completed' } });
  assert.deepEqual(run.path, ['S0', 'S1', 'S2', 'S3', 'S4']);
  assert.equal(run.blackboard.ran, '4');
  assert.equal(run.names[0], 'WorkflowExecutionStarted');
  assert.equal(run.names.at(-1), 'WorkflowExecutionCompleted');
  assert.equal(turn.effects.length + turn.sends.length, 0);
});

test('a chain of more than fifty steps goes on in further turns by a message of its own', () => {
  const run = new DrivenWorkflow();
  const turn = run.start(chain(120));
  assert.equal(run.path.length, 50);
  assert.deepEqual(
    turn.sends.map(({ to, type }) => [to, type]),
    [[`workflow/acme/${RUN_ID}`, 'Continue']],
  );
  run.send('Continue', { entry: 49 }, 'actor');
  assert.equal(run.path.length, 50, 'a message of another moment changes nothing');
  run.send('Continue', { entry: 50 }, 'actor');
  run.send('Continue', { entry: 100 }, 'actor');
  assert.equal(run.path.length, 120);
  assert.equal(run.status, 'completed');
});

test('update_context changes the copy of the context, update_blackboard the blackboard, both rendered', () => {
  const run = new DrivenWorkflow();
  run.start(
    manifestOf(
      {
        A: {
          kind: 'System',
          command: ' update_context\n',
          env: { stage: '{{input.who}}' },
          transitions: [{ target: 'B' }],
        },
        B: {
          kind: 'System',
          command: 'update_blackboard',
          env: { seen: '{{workflow.context.stage}} {{workflow.context.region}} {{blackboard.stage}}' },
          transitions: [],
        },
      },
      { spec: { context: { stage: 'none', region: 'eu' } } },
    ),
  );
  assert.equal(run.blackboard.seen, 'ann eu none');
  assert.equal(run.blackboard.stage, 'none');
  assert.deepEqual(run.blackboard.A, { status: 'success', output: { stdout: '', stderr: '', exit_code: 0 } });
});

test('finalize completes with its rendered env as the output, whatever its transitions say', () => {
  const run = new DrivenWorkflow();
  run.start(
    manifestOf({
      A: { kind: 'System', command: 'finalize', env: { who: '{{input.who}}' }, transitions: [{ target: 'B' }] },
      B: pure('never'),
    }),
  );
  assert.deepEqual(run.path, ['A']);
  const [end] = run.payloads('WorkflowExecutionCompleted');
  assert.deepEqual(end?.output, { who: 'ann' });
  assert.deepEqual(end?.final_blackboard, { A: { status: 'success', output: { who: 'ann' } } });
});

test('a built-in is named by the text of the manifest, never by what a template renders', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: { kind: 'System', command: '{{input.cmd}}', transitions: [] } }), {
    input: { cmd: 'finalize' },
  });
  assert.equal(run.effect.request.kind, 'command.run');
  assert.equal(run.effect.request.input.command, 'finalize');
});

test('context constants and the callers pairs are on the blackboard before the first state; the callers win', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: pure('x') }, { spec: { context: { a: 1, b: 2 } } }), { blackboard: { b: 3, c: 4 } });
  assert.deepEqual({ ...run.blackboard, A: null }, { a: 1, b: 3, c: 4, ran: 'x', A: null });
});

test('the same id is started once; for another workflow it is refused', () => {
  const run = new DrivenWorkflow();
  const manifest = manifestOf({ A: pure('x') });
  run.start(manifest);
  const before = JSON.stringify(run.state);
  const again = run.start(manifest);
  assert.deepEqual(again.reply, { ok: true, value: { execution_id: RUN_ID, status: 'completed' } });
  assert.equal(JSON.stringify(run.state), before);
  const other = run.start(manifest, { workflow_id: 'another' });
  assert.equal(other.reply?.ok === false && other.reply.code, 'conflict');
});

test('a loop ends after the bound of transitions', () => {
  const loop = manifestOf({ A: pure('a', [{ target: 'B' }]), B: pure('b', [{ target: 'A' }]) });
  const run = new DrivenWorkflow(7);
  run.start(loop);
  assert.equal(run.path.length, 8, 'seven transitions reach the eighth state');
  const [failed] = run.payloads('WorkflowExecutionFailed');
  assert.equal(failed?.reason, 'max_transitions_exceeded');
  assert.equal(run.status, 'failed');
});

test('without a bound of its own the node allows a thousand transitions', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: pure('a', [{ target: 'A' }]) }));
  for (let turns = 0; run.status === 'running' && turns < 100; turns += 1)
    run.send('Continue', { entry: run.path.length }, 'actor');
  assert.equal(run.path.length, 1_001);
  assert.equal(run.payloads('WorkflowExecutionFailed')[0]?.reason, 'max_transitions_exceeded');
});

test('the one that its start named hears when it runs and when it has ended', () => {
  const run = new DrivenWorkflow();
  const notify = { to: 'stimulus/acme/s', as: 'RunWord', context: { n: 1 } };
  const turn = run.start(manifestOf({ A: pure('x') }), { notify });
  const words = turn.sends.map(({ to, type, payload }) => [to, type, toJson(payload)] as const);
  const base = { execution_id: RUN_ID, workflow_id: WORKFLOW_ID, reason: null, error: null, context: { n: 1 } };
  assert.deepEqual(words[0], [notify.to, 'RunWord', { ...base, status: 'running', output: null, blackboard: {} }]);
  const output = { stdout: '', stderr: '', exit_code: 0 };
  assert.deepEqual(words[1], [
    notify.to,
    'RunWord',
    { ...base, status: 'completed', output, blackboard: { ran: 'x', A: { status: 'success', output } } },
  ]);
});

test('a missing key renders a placeholder that names it and the state, and the run goes on', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: pure('{{blackboard.nothing}} {{LATER.output}}') }));
  assert.match(String(run.blackboard.ran), /^\[missing: .*nothing in A\] \[missing: .*LATER.output in A\]$/);
});

test('a state whose text cannot be made fails, and its transitions are evaluated', () => {
  const run = new DrivenWorkflow();
  const many = 'x'.repeat(60_000);
  const blowUp = Array.from({ length: 20 }, () => '{{input.big}}').join('');
  run.start(manifestOf({ A: pure(blowUp, [{ condition: 'on_failure', target: 'B' }]), B: pure('mended') }), {
    input: { big: many },
  });
  assert.deepEqual(run.path, ['A', 'B']);
  assert.equal(toJson(toJson(run.blackboard.A).error).code, 'template_too_long');
});

test('a blackboard that grows too large fails the state that would write it', () => {
  const run = new DrivenWorkflow();
  const big = { big: '{{input.text}}{{input.text}}' };
  const states = Object.fromEntries(
    Array.from({ length: 10 }, (_, n) => [
      `S${n}`,
      {
        kind: 'System',
        command: 'update_blackboard',
        env: { [`k${n}`]: big.big },
        transitions: [{ condition: 'on_success', target: `S${n + 1}` }],
      },
    ]),
  );
  run.start(manifestOf({ ...states, S10: pure('end') }), { input: { text: 'x'.repeat(500_000) } });
  const [failed] = run.payloads('WorkflowExecutionFailed');
  assert.equal(failed?.reason, 'blackboard_full');
  assert.equal(failed?.state_name, 'S6');
  assert.ok(JSON.stringify(run.blackboard).length < 6.1 * 1024 * 1024);
});

test('more input than a run may have is refused before anything is kept', () => {
  const run = new DrivenWorkflow();
  const { reply } = run.start(manifestOf({ A: pure('x') }), { input: { text: 'x'.repeat(2_000_000) } });
  assert.equal(reply?.ok === false && reply.code, 'payload_too_large');
  assert.equal(run.status, 'pending');
});

test('large outputs are told in an event by size and beginning only', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: { kind: 'System', command: 'finalize', env: { t: '{{input.t}}' }, transitions: [] } }), {
    input: { t: 'x'.repeat(100_000) },
  });
  const output = toJson(run.payloads('WorkflowStateExited')[0]?.output);
  assert.equal(output.truncated, true);
  assert.ok(JSON.stringify(output).length < 10_000);
});
