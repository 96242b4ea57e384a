import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ModelInput } from '../../../effects/models/call.ts';
import { resultHash } from '../../../manifests/audit/record.ts';
import type { Json } from '../../../runtime/json.ts';
import { AGENT_ID } from './driven-execution.ts';
import { GRANT, outcomeOf, read, run, ToolingExecution, tooled, write } from './tooled.ts';

const ONCE = { execution: { mode: 'one-shot' } };
const CRITIC = [{ type: 'semantic', judge_agent: 'critic', criteria: 'Is it safe?' }];
const JUDGED = { execution: { mode: 'one-shot', tool_validation: CRITIC } };

test('tools are granted before the model is asked, and the model is offered them', () => {
  const driven = new ToolingExecution();
  driven.start(tooled({ security_context: 'mine', security: { network: { mode: 'allow', denylist: ['x.org'] } } }));
  assert.equal(driven.asked('model.generate').length, 0);
  assert.deepEqual(driven.last('tools.grant').request.input, {
    security_context: 'mine',
    agent_id: AGENT_ID,
    manifest: [
      { name: 'fs.*', config: {} },
      { name: 'cmd.run', config: {} },
    ],
    network: { mode: 'allow', allowlist: [], denylist: ['x.org'] },
    filesystem: { read: [], write: [], read_only: false },
  });
  driven.granted();
  const { input } = driven.last('model.generate').request;
  assert.deepEqual(
    (input.tools as { name: string }[]).map(({ name }) => name),
    ['fs.read', 'fs.write', 'cmd.run'],
  );
  assert.match(String(input.system), /rather than running a command/);
  assert.deepEqual(input.principal, { kind: 'tenant_user', subject: 'ada', tier: 'pro' });
  driven.says('done');
  assert.equal(driven.view.status, 'completed');
});

test('a later iteration uses the grant that is pinned', () => {
  const driven = ToolingExecution.begun({ execution: { validation: [{ type: 'regex', pattern: '^[0-9]+$' }] } });
  driven.says('words');
  driven.says('7');
  assert.equal(driven.asked('tools.grant').length, 1);
  assert.equal(driven.view.status, 'completed');
});

test('an answer is rejected until the required tool has succeeded, and the model receives the reason', () => {
  const validation = [{ type: 'tool_call', tool: 'fs.write' }];
  const driven = ToolingExecution.begun({ execution: { validation } });
  driven.says('I have written it.');
  assert.deepEqual(driven.errors, ['validation_failed']);
  assert.match(
    JSON.stringify(driven.last('model.generate').request.input.messages),
    /no call of fs\.write has succeeded/,
  );
  driven.says('I write.', [write()]);
  driven.ends({ ...outcomeOf('the disk is full'), is_error: true });
  driven.says('Done.');
  assert.deepEqual(driven.errors, ['validation_failed', 'validation_failed']);
  driven.says('Again.', [write()]);
  driven.ends(outcomeOf('written'));
  driven.says('Done now.');
  assert.equal(driven.view.status, 'completed');
});

test('an agent without tools is asked once, without a grant and without a system message', () => {
  const driven = new ToolingExecution();
  driven.start(tooled({ tools: [] }));
  assert.deepEqual([driven.asked('tools.grant').length, driven.asked('model.generate').length], [0, 1]);
  assert.equal(driven.last('model.generate').request.input.system, undefined);
});

for (const [code, status] of [
  ['forbidden', 'failed'],
  ['not_found', 'failed'],
  ['unavailable', 'running'],
] as const) {
  test(`a grant that ends with ${code} leaves the execution ${status}`, () => {
    const driven = new ToolingExecution();
    driven.start(tooled());
    driven.notGranted(code);
    assert.equal(driven.view.status, status);
    assert.deepEqual(driven.errors, [code]);
  });
}

test('three rounds: every call is answered to the model, in its order, and the last answer is the output', () => {
  const driven = ToolingExecution.begun();
  driven.says('I look.', [read('1'), read('2')]);
  driven.ends(outcomeOf('two'), driven.runningCalls[1]);
  assert.equal(driven.asked('model.generate').length, 1, 'the model waits for all answers');
  driven.ends(outcomeOf('one'));
  assert.deepEqual(driven.told, ['one', 'two']);
  driven.says('Now I write.', [write()]);
  driven.ends(outcomeOf('written'));
  driven.says('All done.');
  const { view } = driven;
  assert.equal(view.status, 'completed');
  assert.equal(view.tool_calls_executed, 3);
  assert.equal(driven.payloads('iteration_completed')[0]?.output, 'All done.');
  assert.deepEqual(view.usage, { input_tokens: 30, output_tokens: 15, cost: 1.5 });
  const roles = driven.conversation.map(({ role }) => role);
  assert.deepEqual(roles, ['user', 'assistant', 'tool', 'tool', 'assistant', 'tool']);
});

test('the text of every round is streamed, also that of a retried attempt in a later round', () => {
  const driven = ToolingExecution.begun();
  driven.chunk('first ', 2, driven.last('model.generate').id);
  driven.says('first ', [read()]);
  driven.ends();
  driven.chunk('second', 1, driven.last('model.generate').id);
  driven.says('second');
  assert.deepEqual(driven.streamed, ['first ', 'second']);
});

test('reads run in parallel; a write waits for the calls before it and holds back those after it', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [read('1'), read('2'), write(), read('3')]);
  const tools = () => driven.runningCalls.map(({ request }) => request.input.tool);
  assert.deepEqual(tools(), ['fs.read', 'fs.read']);
  driven.ends();
  assert.deepEqual(tools(), ['fs.read']);
  driven.ends();
  assert.deepEqual(tools(), ['fs.write']);
  driven.ends();
  assert.deepEqual(tools(), ['fs.read']);
});

test('at most eight reads run at once, and a capability of one runs one by one', () => {
  const driven = ToolingExecution.begun();
  driven.says(
    '',
    Array.from({ length: 12 }, (_, n) => read(String(n))),
  );
  assert.equal(driven.runningCalls.length, 8);
  const narrow = ToolingExecution.begun();
  narrow.says(
    '',
    Array.from({ length: 3 }, () => ({ name: 'fs.read', args: { one: true } })),
  );
  assert.equal(narrow.runningCalls.length, 1);
});

test('more than 32 calls of one turn: the rest is answered with an error', () => {
  const driven = ToolingExecution.begun();
  driven.says(
    '',
    Array.from({ length: 34 }, (_, n) => read(String(n))),
  );
  while (driven.runningCalls.length > 0) driven.ends();
  assert.equal(driven.told.length, 34);
  assert.match(driven.told[33] ?? '', /^Error InvalidArguments: at most 32 calls/);
  assert.equal(driven.asked('tool.call').length, 32);
});

test('calls of a turn beyond the size of a conversation are dropped, and the loop goes on', () => {
  const driven = ToolingExecution.begun();
  driven.says(
    '',
    Array.from({ length: 500 }, (_, n) => read(String(n))),
  );
  while (driven.runningCalls.length > 0) driven.ends();
  assert.equal(driven.told.length, 100);
  const { input } = driven.last('model.generate').request;
  assert.ok(ModelInput.safeParse(input).success, 'the next round can be asked');
});

test('unknown tools, bad and malformed arguments are answered and never run', () => {
  const driven = ToolingExecution.begun();
  const calls: Json[] = [
    { id: 'a', name: 'fs.format', arguments: {} },
    { id: 'a', name: 'fs.write', arguments: { bad: 1 } },
    { id: 'b', name: 'fs.read', arguments: 'text' },
    { nonsense: true },
    7,
  ];
  driven.saysRaw('', calls);
  assert.equal(driven.asked('tool.call').length, 0);
  const [unknown = '', bad = '', ...malformed] = driven.told;
  assert.match(unknown, /^Error ToolNotAllowed: tool fs\.format is not offered\. This is not available to you; do not/);
  assert.match(bad, /^Error InvalidArguments: fs\.write: bad: not known$/);
  for (const text of malformed) assert.match(text, /^Error InvalidArguments: expected a name and an object/);
  const ids = driven.conversation.filter(({ role }) => role === 'tool').map(({ tool_call_id: id }) => id);
  assert.equal(new Set(ids).size, 5, 'each answer finds its call');
  assert.equal(driven.view.status, 'running');
});

test('an error of a tool is fed back by its class', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [write(), write()]);
  const error = { code: 'NOT_FOUND', class: 'recoverable' as const, message: 'no such file' };
  driven.ends(outcomeOf('no such file', { is_error: true, error }));
  const policyError = { code: 'ToolChanged', class: 'policy' as const, message: 'it changed' };
  driven.ends(outcomeOf('', { content: [], is_error: true, error: policyError }));
  assert.deepEqual(driven.told, [
    'Error NOT_FOUND: no such file',
    'Error ToolChanged: it changed. This is not available to you; do not ask for it again.',
  ]);
});

test('a result that is delivered twice counts once', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [read('1'), read('2')]);
  const first = driven.runningCalls[0];
  driven.ends(outcomeOf('one'), first);
  const again = driven.ends(outcomeOf('another'), first);
  assert.deepEqual([again.events, again.effects, again.sends], [[], [], []]);
  driven.ends(outcomeOf('two'));
  assert.deepEqual(driven.told, ['one', 'two']);
});

test('a fatal error of a tool fails the iteration and stops the other calls', () => {
  const driven = ToolingExecution.begun(ONCE);
  driven.says('', [read('1'), read('2')]);
  const other = driven.runningCalls[1]?.id;
  const error = { code: 'tool_failed', class: 'fatal' as const, message: 'the session is not active' };
  const turn = driven.ends(outcomeOf('', { is_error: true, error }));
  assert.deepEqual(turn.cancelled, [other]);
  assert.deepEqual(driven.errors, ['tool_failed']);
  assert.equal(driven.view.status, 'failed');
});

test('the model gets an error for a tool that its node could not run', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [write(), write(), write()]);
  driven.endsRaw({ kind: 'failed', code: 'unavailable', message: 'the server is down' });
  driven.endsRaw({ kind: 'done', value: { nonsense: true } });
  driven.endsRaw({ kind: 'failed', code: 'deadline_exceeded', message: 'too slow' });
  assert.deepEqual(driven.told, [
    'Error unavailable: the server is down',
    'Error tool_failed: the result of the tool is malformed',
    'Error deadline_exceeded: too slow',
  ]);
});

test('a call in doubt is reported to the model, listed, and not repeated', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [write()]);
  driven.endsRaw({ kind: 'in_doubt' });
  assert.match(driven.told[0] ?? '', /^Error in_doubt: .* may or may not have acted. It was not repeated/);
  assert.deepEqual(driven.view.status === 'running' && driven.view.calls_in_doubt, [
    { tool: 'fs.write', call: '1.1.1', iteration: 1, round: 1 },
  ]);
  assert.equal(driven.asked('tool.call').length, 1);
  driven.says('done');
  assert.equal(driven.view.status === 'completed' && driven.view.calls_in_doubt.length, 1);
});

test('fifty rounds are enough; one more fails the iteration', () => {
  const driven = ToolingExecution.begun(ONCE);
  for (let round = 1; round <= 50; round += 1) {
    driven.says('', [read()]);
    driven.ends();
  }
  assert.equal(driven.asked('model.generate').length, 50);
  assert.deepEqual(driven.errors, ['inner_loop_limit']);
  assert.equal(driven.view.status, 'failed');
});

test('the fiftieth answer counts', () => {
  const driven = ToolingExecution.begun(ONCE);
  for (let round = 1; round < 50; round += 1) {
    driven.says('', [read()]);
    driven.ends();
  }
  driven.says('at last');
  assert.equal(driven.view.status, 'completed');
});

test('a call that judges accept runs, and their request names it', () => {
  const driven = ToolingExecution.begun(JUDGED);
  driven.says('', [write('x')]);
  assert.equal(driven.asked('tool.call').length, 0);
  const input = JSON.parse(driven.panels[0]?.judges[0]?.input ?? '{}');
  assert.deepEqual(input.proposed_tool_call, { name: 'fs.write', arguments: { path: 'x' } });
  assert.deepEqual(input.available_tools, ['fs.read', 'fs.write', 'cmd.run']);
  assert.deepEqual(input.worker_mounts, [{ mount_path: '/workspace', read_only: false }]);
  assert.equal(input.criteria, 'Is it safe?');
  assert.equal(input.execution_id, driven.view.status === 'running' && driven.view.execution_id);
  assert.equal(input.validation_context, 'semantic_judge_pre_execution_inner_loop');
  driven.judge(0.9);
  driven.ends();
  driven.says('', [write('y')]);
  const history = JSON.parse(driven.panels[1]?.judges[0]?.input ?? '{}').tool_audit_history;
  assert.deepEqual(history, [{ tool: 'fs.write', arguments: '{"path":"x"}', status: 'succeeded', result: 'done' }]);
});

test('a call that judges reject is not run, and the model gets the reason', () => {
  const driven = ToolingExecution.begun(JUDGED);
  driven.says('', [write()]);
  driven.judge(0.1);
  assert.equal(driven.asked('tool.call').length, 0);
  assert.match(driven.told[0] ?? '', /^Error JudgeRejected: the proposed call was not run.*It would delete too much/s);
  assert.equal(driven.records[0]?.reason, 'JudgeRejected');
});

test('judges without a verdict fail the iteration', () => {
  const driven = ToolingExecution.begun(JUDGED);
  driven.says('', [write()]);
  driven.judge(null);
  assert.deepEqual(driven.errors, ['tool_judge_failed']);
});

test('a tool that needs no judge is not judged, and every judge of a list is asked', () => {
  const driven = ToolingExecution.begun({ execution: { tool_validation: [...CRITIC, ...CRITIC] } });
  driven.says('', [read()]);
  assert.equal(driven.runningCalls.length, 1);
  driven.ends();
  driven.says('', [write()]);
  driven.judge(0.9);
  assert.equal(driven.panels.length, 2);
  driven.judge(0.9);
  assert.equal(driven.runningCalls.length, 1);
});

const PHASES: readonly (readonly [string, (driven: ToolingExecution) => void, number, number])[] = [
  ['the grant', () => {}, 1, 0],
  ['the model', (driven) => void driven.granted(), 1, 0],
  [
    'two calls',
    (driven) => {
      driven.granted();
      driven.says('', [read('1'), read('2')]);
    },
    2,
    0,
  ],
  [
    'the judges of a call',
    (driven) => {
      driven.granted();
      driven.says('', [write()]);
    },
    0,
    1,
  ],
];
for (const [phase, reach, effects, panels] of PHASES) {
  for (const how of ['a cancel', 'the iteration timer', 'the execution timer'] as const) {
    test(`${how} while the loop waits for ${phase} stops that effect only, and late results change nothing`, () => {
      const driven = new ToolingExecution();
      driven.start(tooled(JUDGED));
      reach(driven);
      const turn =
        how === 'a cancel'
          ? driven.send('Cancel', {})
          : driven.fire(how === 'the iteration timer' ? 'iteration' : 'execution');
      assert.equal(turn.cancelled.length, effects);
      assert.equal(
        turn.sends.filter(({ type, to }) => type === 'Cancel' && to.startsWith('judge-panel/')).length,
        panels,
      );
      assert.equal(driven.view.status, how === 'a cancel' ? 'cancelled' : 'failed');
      assert.equal(driven.timers.size, 0);
      const before = driven.events.length;
      if (driven.asked('model.generate').length > 0) driven.says('late');
      if (phase === 'two calls') driven.ends(outcomeOf('late'), driven.last('tool.call'));
      if (panels > 0) driven.judge(1);
      assert.equal(driven.events.length, before);
    });
  }
}

test('a model that fails in a later round fails the iteration', () => {
  const driven = ToolingExecution.begun(ONCE);
  driven.says('', [read()]);
  driven.ends();
  const { id } = driven.last('model.generate');
  driven.result('ModelAnswered', { kind: 'failed', code: 'model_unavailable', message: '503' }, id);
  assert.deepEqual(driven.errors, ['model_unavailable']);
});

test('the audit chain records every decision and every end, and is closed with the execution', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [read(), { name: 'nope' }]);
  driven.ends();
  driven.says('done');
  const id = driven.view.status === 'completed' ? driven.view.execution_id : '';
  const open = driven.sent('Open');
  assert.deepEqual(
    open.map(({ to, payload }) => [to, payload.source]),
    [[`tool-session/acme/${id}`, 'inner_loop']],
  );
  assert.deepEqual(
    driven.records.map(({ kind, call, decision, reason, outcome }) => [
      kind,
      call,
      decision ?? outcome,
      reason ?? null,
    ]),
    [
      ['decided', '1.1.2', 'denied', 'ToolNotAllowed'],
      ['decided', '1.1.1', 'allowed', null],
      ['ended', '1.1.1', 'succeeded', null],
    ],
  );
  assert.deepEqual(
    driven.sent('Close').map(({ to }) => to),
    [`tool-session/acme/${id}`],
  );
});

test('the audit chain has the code of an error and the hash of what the model got, and no text of either', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [read()]);
  const error = { code: 'NOT_FOUND', class: 'recoverable' as const, message: '/workspace/secret plans does not exist' };
  const outcome = outcomeOf('secret plans', { is_error: true, error });
  driven.ends(outcome);
  const { outcome: ended, error: told, result_hash } = driven.records.at(-1) ?? {};
  assert.deepEqual([ended, told, result_hash], ['failed', 'NOT_FOUND', resultHash(outcome)]);
  assert.doesNotMatch(JSON.stringify(driven.records), /secret/);
});

test('a tool call carries the execution, its caller, its workspace, and the pinned grant', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [run()]);
  const { input, mode } = driven.last('tool.call').request;
  assert.equal(mode, 'once');
  const id = driven.view.status === 'running' ? driven.view.execution_id : '';
  assert.deepEqual(input.subject, {
    ...{ execution_id: id, agent_id: '9b1d6c1e-52a4-4a5e-8a55-6f1f0c2b7e02', session_id: id },
    principal: { kind: 'tenant_user', subject: 'ada', roles: ['svc:operator'], tier: 'pro' },
    mounts: [{ volume_id: id, mount_path: '/workspace', read_only: false, create: true }],
    isolation: 'process',
  });
  const { tools: _tools, ...scope } = GRANT;
  assert.deepEqual(input.scope, scope);
  assert.equal(input.schema_hash, 'a'.repeat(64));
});

test('the workspace of the workflow replaces the agent’s own', () => {
  const driven = new ToolingExecution();
  const mount = { volume_id: 'v1', mount_path: '/workspace/', read_only: false };
  driven.start(tooled(), { mounts: [mount] });
  driven.granted();
  driven.says('', [read()]);
  const { subject } = driven.last('tool.call').request.input as { subject: { mounts: unknown } };
  assert.deepEqual(subject.mounts, [{ ...mount, create: false }]);
});

test('a stored result is sent by reference, and a conversation over its bound drops the oldest results', () => {
  const driven = ToolingExecution.begun();
  driven.says('', [read()]);
  driven.ends(outcomeOf('the beginning', { stored: { ref: 'f'.repeat(64), bytes: 99_999 } }));
  assert.equal(driven.conversation.at(-1)?.content_ref, 'f'.repeat(64));
  for (let round = 0; round < 3; round += 1) {
    driven.says(
      '',
      Array.from({ length: 30 }, () => read()),
    );
    while (driven.runningCalls.length > 0) driven.ends(outcomeOf('x'.repeat(32_000)));
  }
  const bytes = Buffer.byteLength(JSON.stringify(driven.conversation));
  assert.ok(bytes <= 2 * 1024 * 1024, `the conversation has ${bytes} bytes`);
  assert.equal(driven.conversation[2]?.content, 'the beginning', 'what is short stays');
  assert.match(String(driven.conversation[4]?.content), /left out/);
  assert.equal(driven.told[0], 'x'.repeat(32_000), 'the last turn is whole');
});
