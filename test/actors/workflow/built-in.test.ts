import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowState } from '../../../actors/workflow/state.ts';
import type { WorkflowManifest } from '../../../manifests/workflow/schema.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { summaryOf } from '../../../usecases/workflow-status.ts';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, manifestOf, pure, RUN_ID, WORKFLOW_ID } from './driven-workflow.ts';

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

test('the blackboard has context constants and the caller’s pairs before the first state; the caller’s win', () => {
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

test('the actor that the start names receives when the run begins and when it has ended', () => {
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
  const started = (text: string) => {
    const run = new DrivenWorkflow();
    const { reply } = run.start(manifestOf({ A: pure('x') }), { input: { text } });
    return { run, code: reply?.ok === false && reply.code };
  };
  const most = 'x'.repeat(5 * 1024 * 1024 - JSON.stringify({ text: '' }).length);
  assert.equal(started(most).code, false);
  const { run, code } = started(`${most}x`);
  assert.equal(code, 'payload_too_large');
  assert.equal(run.status, 'pending');
});

test('an event holds size and beginning of a large output only', () => {
  const run = new DrivenWorkflow();
  run.start(manifestOf({ A: { kind: 'System', command: 'finalize', env: { t: '{{input.t}}' }, transitions: [] } }), {
    input: { t: 'x'.repeat(100_000) },
  });
  const output = toJson(run.payloads('WorkflowStateExited')[0]?.output);
  assert.equal(output.truncated, true);
  assert.ok(JSON.stringify(output).length < 10_000);
});

test('fail makes its state fail with the error of its env: a run that ends there is completed and has failed', () => {
  const run = new DrivenWorkflow();
  const env = { code: 'out_of_stock', message: 'no {{input.item}} is left' };
  run.start(manifestOf({ STOP: { kind: 'System', command: 'fail', env, transitions: [] } }), {
    input: { item: 'lamp' },
  });
  assert.equal(run.status, 'completed');
  assert.deepEqual(run.blackboard.STOP, {
    status: 'failed',
    output: { code: 'out_of_stock', message: 'no lamp is left' },
    error: { code: 'out_of_stock', message: 'no lamp is left' },
  });
  const ended = WorkflowState.parse(run.state);
  assert.ok(ended.status === 'completed');
  const { outcome, error } = summaryOf(ended);
  const message = 'state STOP failed: no lamp is left';
  assert.deepEqual([outcome, error], ['failed', { code: 'out_of_stock', message, cause: 'no lamp is left' }]);
});

test('fail without env has a code of its own, leads on over on_failure, and refuses what is no code', () => {
  const of = (env: JsonObject) =>
    manifestOf({
      STOP: { kind: 'System', command: 'fail', env, transitions: [{ condition: 'on_failure', target: 'NOTE' }] },
      NOTE: pure('{{STOP.error.code}}'),
    });
  for (const [env, code] of [
    [{}, 'workflow_failed'],
    [{ code: 'Bad Code' }, 'invalid_argument'],
  ] as const) {
    const run = new DrivenWorkflow();
    run.start(of(env));
    assert.deepEqual([run.status, run.blackboard.ran], ['completed', code]);
  }
});

test('a run whose last state failed has failed, one that fails says the code and the cause, a cancelled one why', () => {
  const end = (manifest: WorkflowManifest, act: (run: DrivenWorkflow) => unknown) => {
    const run = new DrivenWorkflow();
    run.start(manifest);
    act(run);
    const ended = WorkflowState.parse(run.state);
    assert.ok(ended.status !== 'pending');
    const { status, outcome, error } = summaryOf(ended);
    return [status, outcome, error];
  };
  const shell = (transitions: JsonObject[]) => manifestOf({ A: { kind: 'System', command: 'make', transitions } });
  const cause = 'the command ended with exit code 4: err';
  const failed = { code: 'command_failed', cause };
  assert.deepEqual(
    end(shell([]), (run) => run.exit(4)),
    ['completed', 'failed', { ...failed, message: `state A failed: ${cause}` }],
  );
  assert.deepEqual(
    end(shell([{ condition: 'on_success', target: 'A' }]), (run) => run.exit(4)),
    ['failed', 'failed', { ...failed, message: `state A: ${cause}` }],
  );
  assert.deepEqual(
    end(shell([]), (run) => run.exit(0)),
    ['completed', 'succeeded', null],
  );
  assert.deepEqual(
    end(shell([]), (run) => run.send('Cancel', { reason: 'no longer needed' })),
    ['cancelled', 'cancelled', { code: 'cancelled', message: 'it was cancelled: no longer needed', cause: null }],
  );
  assert.deepEqual(
    end(shell([]), () => undefined),
    ['running', null, null],
  );
});

test('the built-ins write JSON: values of the manifest as they are, and what one whole template stands for', () => {
  const run = new DrivenWorkflow();
  const env = {
    count: '{{add blackboard.count 1}}',
    list: ['a', '{{input.who}}', { deep: '{{input.map}}' }],
    map: '{{input.map}}',
    parsed: '{{parseJson input.text}}',
    text: 'n={{input.map.n}}',
    missing: '{{input.nothing}}',
    none: null,
  };
  run.start(
    manifestOf({
      SET: { kind: 'System', command: 'update_blackboard', env, transitions: [{ target: 'END' }] },
      END: {
        kind: 'System',
        command: 'finalize',
        env: { n: '{{blackboard.map.n}}', list: '{{blackboard.list}}', length: '{{length blackboard.parsed}}' },
        transitions: [],
      },
    }),
    { input: { who: 'ann', map: { n: 2 }, text: '[1,2]' }, blackboard: { count: 1 } },
  );
  const { SET: _set, END: end, ...written } = run.blackboard;
  assert.deepEqual(written, {
    count: 2,
    list: ['a', 'ann', { deep: { n: 2 } }],
    map: { n: 2 },
    parsed: [1, 2],
    text: 'n=2',
    missing: '[missing: input.nothing in SET]',
    none: null,
  });
  assert.deepEqual(end, { status: 'success', output: { n: '2', list: ['a', 'ann', { deep: { n: 2 } }], length: '2' } });
});

test('members of an answer that is JSON are reached by their paths, in templates and expressions', () => {
  const run = new DrivenWorkflow();
  run.start(
    manifestOf({
      ASK: { kind: 'System', command: 'ask', transitions: [{ target: 'READ' }] },
      READ: {
        ...pure('{{ASK.output.stdout.items.1.name}} {{ASK.output.stdout.length}} {{ASK.output.stdout.none}}'),
        transitions: [{ condition: 'custom', expression: 'ASK.output.stdout.total > 2', target: 'END' }],
      },
      END: pure('{{blackboard.ran}}, enough'),
    }),
  );
  const stdout = '{"items": [{"name": "a"}, {"name": "b"}], "total": 3}';
  run.done({ exit_code: 0, stdout, stderr: '', duration_ms: 1 });
  assert.equal(run.blackboard.ran, `b ${stdout.length} [missing: ASK.output.stdout.none in READ], enough`);
});

test('a template or an expression that fails in a run is an event that names the state and the reason', () => {
  const run = new DrivenWorkflow();
  run.start(
    manifestOf({
      A: {
        ...pure('x'),
        transitions: [
          { condition: 'custom', expression: 'add(', target: 'END' },
          { target: 'END', feedback: '{{add input.who 1}}' },
        ],
      },
      END: { kind: 'System', command: 'finalize', env: { bad: '{{parseJson input.who}}' }, transitions: [] },
    }),
  );
  const told = run.payloads('WorkflowTemplateFailed').map(({ state_name, what, transition, code }) => {
    return [state_name, what, transition, code];
  });
  assert.deepEqual(told, [
    ['A', 'expression', 0, 'template_invalid'],
    ['A', 'feedback', 1, 'template_invalid'],
    ['END', 'step', null, 'template_invalid'],
  ]);
  assert.match(String(run.payloads('WorkflowTemplateFailed')[2]?.error), /parseJson takes JSON/);
});

test('a run that an earlier version started keeps the rules of that version', () => {
  const run = new DrivenWorkflow();
  const manifest = manifestOf({
    A: { kind: 'System', command: 'update_blackboard', env: { m: '{{input.m}}' }, transitions: [{ target: 'B' }] },
    B: pure('{{input.text.n}}', [{ target: 'C' }]),
    C: { kind: 'System', command: 'fail', env: {}, transitions: [] },
  });
  run.start(manifest, { input: { m: { n: 1 }, text: '{"n": 1}' }, rules: 0 });
  assert.deepEqual([run.blackboard.m, run.blackboard.ran], ['{"n":1}', '[missing: input.text.n in B]']);
  assert.deepEqual([run.effect.request.kind, run.effect.request.input.command], ['command.run', 'fail']);
});
