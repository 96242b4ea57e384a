import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executionActor } from '../../../actors/execution/definition.ts';
import { LOOP } from '../../../actors/execution/inner-loop/state.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { Bootstrapped, DOCKER, PROGRAM } from './bootstrapped.ts';
import { AGENT_ID, DrivenExecution, EXECUTION_ID, manifestOf } from './driven-execution.ts';
import { outcomeOf, policy, read, run, ToolingExecution, write } from './tooled.ts';

const codeOf = ({ reply }: DrivenTurn): string | null => (reply?.ok === false ? reply.code : null);
const textOf = ({ reply }: DrivenTurn): string => (reply?.ok === false ? (reply.message ?? '') : '');

test('a program generates: node tools are called, a command is dispatched, its end goes on to the final answer', () => {
  const driven = Bootstrapped.of(PROGRAM);
  assert.equal(driven.asked('program.run').length, 1);
  assert.deepEqual(driven.generate().reply, { ok: true, value: { iteration: 1 } });
  driven.granted();
  assert.deepEqual(driven.conversation, [{ role: 'user', content: 'do it' }]);
  driven.says('', [read(), run('make')]);
  driven.ends(outcomeOf('read'));
  assert.equal(driven.asked('tool.call').length, 1, 'the command runs where the agent runs');
  driven.dispatchEnded(driven.dispatched, { exit_code: 2, stderr: 'no rule' });
  assert.deepEqual(driven.told, ['read', '{"stdout":"out","stderr":"no rule","exit_code":2}']);
  driven.says('built');
  assert.equal(driven.phase, 'final');
  driven.prints('printed by the program');
  assert.equal(driven.payloads('iteration_completed')[0]?.output, 'printed by the program');
  assert.equal(driven.view.status === 'completed' && driven.view.tool_calls_executed, 2);
});

test('a repeated Generate finds the same loop in every phase and does not ask the model again', () => {
  const driven = Bootstrapped.of(PROGRAM);
  const effects = () => driven.turns.flatMap((turn) => turn.effects).length;
  driven.generate();
  const steps = [
    () => driven.granted(),
    () => driven.says('', [write(), run()]),
    () => driven.ends(),
    () => driven.dispatchEnded(driven.dispatched),
    () => driven.says('final'),
  ];
  for (const step of steps) {
    const asked = effects();
    assert.deepEqual(driven.generate().reply, { ok: true, value: { iteration: 1 } });
    assert.equal(effects(), asked);
    step();
  }
  driven.generate();
  assert.equal(driven.phase, 'final');
  assert.equal(driven.asked('tool.call').length, 1);
});

test('a repeated end of a dispatch changes nothing; the end of an unknown one is refused by name', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate();
  driven.granted();
  driven.says('', [run('a'), run('b')]);
  const first = driven.dispatched;
  assert.equal(driven.calls.filter(({ status }) => status === 'dispatched').length, 1, 'one is open at a time');
  driven.dispatchEnded(first);
  const second = driven.dispatched;
  assert.notEqual(first, second);
  assert.deepEqual(driven.dispatchEnded(first).reply, { ok: true, value: { iteration: 1 } });
  assert.equal(driven.dispatched, second);
  const unknown = driven.dispatchEnded('nobody');
  assert.equal(codeOf(unknown), 'failed_precondition');
  assert.match(textOf(unknown), /no dispatch nobody is open/);
});

for (const [title, end, told] of [
  ['too long', { exit_code: -1, duration_ms: 30_000 }, /^Error ExecTimeoutCeilingExceeded: .*30 s/],
  ['too much output', { truncated: true }, /^Error OutputSizeLimitExceeded: .*1000 bytes/],
  ['an unknown action', { exit_code: -1, stderr: 'unknown_action:x' }, /unknown_action:x/],
] as const) {
  test(`a dispatched command that ends with ${title} is reported to the model as cmd.run reports it`, () => {
    const driven = Bootstrapped.of(PROGRAM);
    driven.generate();
    driven.granted();
    driven.says('', [run()]);
    driven.dispatchEnded(driven.dispatched, end);
    assert.match(driven.told[0] ?? '', told);
  });
}

const REFUSED: readonly (readonly [string, JsonObject, string, RegExp])[] = [
  ['another iteration', { iteration_number: 2 }, 'failed_precondition', /iteration 1 runs, not 2/],
  ['another agent', { agent_id: 'someone' }, 'forbidden', /agent_id/],
  ['more than can be given', { prompt: 'x'.repeat(3 * 1024 * 1024) }, 'payload_too_large', /messages/],
];
for (const [title, more, code, text] of REFUSED) {
  test(`a Generate of ${title} is refused with ${code}`, () => {
    const turn = Bootstrapped.of(PROGRAM).generate(more);
    assert.equal(codeOf(turn), code);
    assert.match(textOf(turn), text);
  });
}

test('a Generate where the loop runs in the node, or nothing runs, is refused', () => {
  assert.equal(codeOf(Bootstrapped.of({}).generate()), 'failed_precondition');
  assert.equal(codeOf(new Bootstrapped().generate()), 'not_found');
  const ended = Bootstrapped.of(PROGRAM);
  ended.send('Cancel', {});
  assert.equal(codeOf(ended.generate()), 'failed_precondition');
  assert.equal(codeOf(ended.dispatchEnded('x')), 'failed_precondition');
});

test('a second conversation begins when the first has its answer, not before', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate();
  driven.granted();
  assert.match(textOf(driven.generate({ prompt: 'other' })), /under way/);
  driven.says('first');
  const said: Json = [
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'yes' },
  ];
  driven.generate({ prompt: 'second', messages: said, model_alias: 'smart' });
  assert.deepEqual(
    driven.conversation.map(({ content }) => content),
    ['first', 'yes', 'second'],
  );
  assert.equal(driven.last('model.generate').request.input.model, 'smart');
});

test('without a prompt the prompt of the iteration is used', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate({ prompt: '' });
  driven.granted();
  assert.deepEqual(driven.conversation, [{ role: 'user', content: 'Summarize.\n\nthe text' }]);
});

test('a program in doubt is run again: its open command is in doubt, what has run is kept, and its Generate goes on', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate();
  driven.granted();
  driven.says('', [write(), run('deploy')]);
  driven.ends(outcomeOf('written'));
  const dispatch = driven.dispatched;
  driven.programEnds({ kind: 'in_doubt' });
  assert.equal(driven.asked('program.run').length, 2);
  assert.match(driven.told[1] ?? '', /^Error in_doubt/);
  assert.equal(codeOf(driven.dispatchEnded(dispatch)), 'failed_precondition');
  driven.generate();
  driven.says('it is not known whether it was deployed');
  driven.prints('x');
  const { view } = driven;
  assert.deepEqual(view.status === 'completed' && view.calls_in_doubt.map(({ tool }) => tool), ['cmd.run']);
  assert.equal(driven.asked('tool.call').length, 1);
});

test('a bootstrap that sends a new request after an ended dispatch is another one: the open command is in doubt', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate();
  driven.granted();
  driven.says('', [run('a'), run('b')]);
  driven.dispatchEnded(driven.dispatched);
  driven.generate();
  assert.match(driven.told[1] ?? '', /^Error in_doubt/);
});

test('a model that failed for now is asked again in the same round by the same Generate', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate();
  driven.granted();
  driven.says('', [write()]);
  driven.ends(outcomeOf('written'));
  const { id } = driven.last('model.generate');
  driven.result('ModelAnswered', { kind: 'failed', code: 'model_unavailable', message: '503' }, id);
  assert.equal(driven.phase, 'failed');
  assert.equal(driven.view.status, 'running', 'the bootstrap of the agent decides');
  driven.generate();
  assert.deepEqual(driven.told, ['written']);
  driven.says('done');
  assert.equal(driven.phase, 'final');
});

test('a grant that was unavailable is requested again by the same Generate', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate();
  driven.notGranted('unavailable');
  assert.equal(driven.phase, 'failed');
  driven.generate();
  driven.granted();
  driven.says('done');
  assert.equal(driven.phase, 'final');
});

test('a program that ends while its loop goes on stops the loop', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate();
  driven.granted();
  const { id } = driven.last('model.generate');
  const turn = driven.prints('early', 1);
  assert.deepEqual(turn.cancelled, [id]);
  assert.deepEqual(driven.errors, ['program_failed']);
});

test('isolation docker: the request for the container has all it needs, and allows adoption', () => {
  const driven = Bootstrapped.of(DOCKER);
  const { request } = driven.last('agent.container');
  assert.equal(request.mode, 'repeatable');
  const { env, ...input } = request.input;
  assert.deepEqual(input, {
    ...{ image: 'ghcr.io/acme/agent:1', language: null, version: null, image_pull_policy: 'IfNotPresent' },
    ...{ bootstrap_path: null, network: 'none', read_only: false, prompt: 'Summarize.\n\nthe text' },
    ...{ execution_id: EXECUTION_ID, agent_id: AGENT_ID, iteration: 1, stream: false },
    mounts: [{ volume_id: EXECUTION_ID, mount_path: '/workspace', read_only: false, create: true }],
    limits: {
      ...{ timeout_ms: 300_000, memory_bytes: 536_870_912, cpu_millicores: 1_000 },
      ...{ disk_bytes: 1_073_741_824, output_bytes: 1_048_576 },
    },
  });
  assert.equal((env as JsonObject).SVC_SECURITY_CONTEXT, 'svc-system-agent-runtime');
});

test('isolation docker under read_only: the container receives that rule', () => {
  const driven = Bootstrapped.of({ ...DOCKER, security: { filesystem: { read_only: true } } });
  assert.equal(driven.last('agent.container').request.input.read_only, true);
});

test('isolation docker gives the same events as isolation process, chunk for chunk', () => {
  const inNode = ToolingExecution.begun({ execution: { max_iterations: 2 } });
  const docker = Bootstrapped.of(DOCKER);
  docker.progress({ container_id: 'box' });
  docker.generate();
  docker.granted();
  for (const driven of [inNode, docker]) {
    driven.chunk('I write. ', 1, driven.last('model.generate').id);
    driven.says('I write. ', [write()]);
    driven.ends();
    driven.chunk('Done.', 1, driven.last('model.generate').id);
    driven.says('Done.');
  }
  docker.progress({ text: 'Done.' });
  docker.prints('Done.\n');
  assert.deepEqual(docker.events, inNode.events);
});

test('a loop that fails fails the iteration in a container as in the node', () => {
  const inNode = ToolingExecution.begun({ execution: { mode: 'one-shot' } });
  const docker = Bootstrapped.of({ ...DOCKER, execution: { mode: 'one-shot' } });
  docker.generate();
  docker.granted();
  for (const driven of [inNode, docker]) {
    const { id } = driven.last('model.generate');
    driven.result('ModelAnswered', { kind: 'failed', code: 'model_failed', message: 'refused' }, id);
  }
  assert.deepEqual(docker.events, inNode.events);
});

test('when the container changed, the command that its bootstrap had to run is in doubt', () => {
  const driven = Bootstrapped.of(DOCKER);
  driven.progress({ container_id: 'one' });
  driven.generate();
  driven.granted();
  driven.says('', [run()]);
  driven.progress({ container_id: 'one' });
  assert.ok(driven.dispatched);
  driven.progress({ container_id: 'two' });
  assert.match(driven.told[0] ?? '', /^Error in_doubt/);
});

test('attestation: the execution runs, the agent is its own, the container is its own; the session ends with it', () => {
  const docker = Bootstrapped.of(DOCKER);
  const attest = (more: JsonObject = {}) =>
    docker.send('Attest', { session_id: 's1', agent_id: AGENT_ID, container_id: 'box', ...more });
  assert.equal(codeOf(attest()), 'failed_precondition', 'it does not run yet');
  docker.progress({ container_id: 'box' });
  assert.equal(codeOf(attest({ container_id: EXECUTION_ID })), 'forbidden');
  assert.equal(codeOf(attest({ agent_id: 'someone' })), 'forbidden');
  const { reply } = attest();
  assert.ok(reply?.ok === true);
  const { subject, expires_at, grant_request } = JSON.parse(JSON.stringify(reply.value));
  assert.deepEqual([subject.session_id, subject.container_id, subject.isolation], ['s1', 'box', 'docker']);
  assert.equal(expires_at, Date.UTC(2026, 0, 1) + 1_800_000);
  assert.equal(grant_request.manifest.length, 2);
  attest();
  docker.send('Cancel', {});
  assert.deepEqual(
    docker.sent('Close').map(({ to }) => to),
    ['tool-session/acme/s1'],
  );
  assert.equal(codeOf(attest()), 'failed_precondition');
});

test('attestation without a container names the execution, and 64 sessions are enough', () => {
  const driven = Bootstrapped.of(PROGRAM);
  const attest = (session_id: string, container_id = EXECUTION_ID) =>
    driven.send('Attest', { session_id, agent_id: AGENT_ID, container_id });
  assert.equal(codeOf(attest('s', 'box')), 'forbidden');
  for (let n = 1; n <= 64; n += 1) assert.equal(codeOf(attest(`s${n}`)), null);
  assert.equal(codeOf(attest('s65')), 'limit_reached');
  assert.equal(codeOf(attest('s64')), null);
});

test('a running execution of version 1 goes on', () => {
  const now = new DrivenExecution();
  now.start(manifestOf());
  const {
    plan,
    tool_calls_executed: _calls,
    calls_in_doubt: _doubt,
    sessions: _sessions,
    tool_history: _history,
    ...v1
  } = JSON.parse(JSON.stringify(now.state));
  const { tool_checks: _checks, tools: _tools, container: _container, ...oldPlan } = plan;
  const definition = executionActor({ policy });
  const migrated = definition.migrate?.({ ...v1, plan: oldPlan }, 1);
  const read1 = definition.state.parse(migrated);
  assert.deepEqual(JSON.parse(JSON.stringify(read1)).plan.tools.manifest, []);
  assert.deepEqual(definition.migrate?.({ status: 'pending' }, 1), { status: 'pending' });
});

test('successive conversations of a bootstrap share one budget of rounds', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate({ prompt: 'p0' });
  driven.granted();
  driven.says('', [write()]);
  driven.ends();
  driven.says('answer');
  const keys = () => driven.sent('Record').map(({ payload }) => JSON.parse(JSON.stringify(payload)).body);
  let begun = 1;
  for (; codeOf(driven.generate({ prompt: `p${begun % 2}` })) === null && begun < 1_000; begun += 1) {
    driven.says('', [write()]);
    driven.ends();
    driven.says('answer');
  }
  assert.equal(begun, LOOP.roundsOfIteration / 2);
  assert.match(textOf(driven.generate({ prompt: 'p9' })), /at most 500 rounds/);
  assert.equal(driven.asked('tool.call').length, begun);
  const decided = keys().flatMap(({ kind, call }) => (kind === 'decided' ? [call] : []));
  assert.equal(new Set(decided).size, begun, 'each call has a key of its own in the chain');
});

test('a model that keeps failing is not asked again without end', () => {
  const driven = Bootstrapped.of(PROGRAM);
  driven.generate();
  driven.granted();
  const failing = { kind: 'failed', code: 'model_unavailable', message: '503' } as const;
  for (let asked = 1; asked < 1_000; asked += 1) {
    driven.result('ModelAnswered', failing, driven.last('model.generate').id);
    driven.generate();
    if (driven.asked('model.generate').length !== asked + 1) break;
  }
  assert.equal(driven.asked('model.generate').length, LOOP.roundsOfIteration);
  assert.equal(driven.phase, 'failed');
});

test('a container is named by its id or by the beginning of it that is its host name, by nothing shorter or other', () => {
  const driven = Bootstrapped.of(DOCKER);
  const box = 'c0ffee'.repeat(10).concat('0123');
  driven.progress({ container_id: box });
  const attest = (container_id: string) =>
    driven.send('Attest', { session_id: 's1', agent_id: AGENT_ID, container_id });
  assert.equal(codeOf(attest(box.slice(0, 12))), null);
  assert.equal(codeOf(attest(box)), null);
  for (const other of [box.slice(0, 11), `${box.slice(0, 12)}f`, `${box}0`, box.slice(1, 13), EXECUTION_ID]) {
    assert.equal(codeOf(attest(other)), 'forbidden', other);
  }
});
