import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { DrivenWorkflow, manifestOf, pure, RUN_ID, single, toJson, WORKFLOW_ID } from './rig.ts';

const AGENT: JsonObject = { kind: 'Agent', agent: 'writer', input: 'Write for {{input.who}}.' };
const SYSTEM: JsonObject = {
  kind: 'System',
  command: 'make {{input.who}}',
  env: { WHO: '{{input.who}}' },
  timeout: '2m',
};
const HUMAN: JsonObject = { kind: 'Human', prompt: 'Release for {{input.who}}?' };
const PANEL: JsonObject = {
  kind: 'ParallelAgents',
  agents: [
    { agent: 'strict', input: '{{input.who}}', weight: 2 },
    { agent: 'kind', timeout_seconds: 5 },
  ],
  consensus: { strategy: 'weighted_average' },
};
const CONTAINER: JsonObject = {
  kind: 'ContainerRun',
  image: 'alpine:{{input.who}}',
  command: ['echo', '{{input.who}}'],
};
const CONTAINERS: JsonObject = {
  kind: 'ParallelContainerRun',
  steps: ['lint', 'test', 'scan'].map((name) => ({ name, image: 'alpine', command: ['true'] })),
};
const CHILD: JsonObject = { kind: 'Subworkflow', workflow_id: 'child', input: '{"n": 1}' };
const DETACHED: JsonObject = { ...CHILD, mode: 'fire_and_forget' };

const KINDS: Readonly<Record<string, JsonObject>> = {
  AGENT,
  SYSTEM,
  HUMAN,
  PANEL,
  CONTAINER,
  CONTAINERS,
  CHILD,
  DETACHED,
};

function begun(state: JsonObject, extra: Parameters<typeof single>[1] = {}): DrivenWorkflow {
  const run = new DrivenWorkflow();
  run.start(single(state, extra));
  return run;
}

const record = (run: DrivenWorkflow): JsonObject => toJson(run.blackboard.STEP);
const errorCode = (run: DrivenWorkflow): Json | undefined => toJson(record(run).error).code;

test('an agent is started under an id of the run, in the name of who started it, and its word is the output', () => {
  const run = begun(AGENT);
  const { kind, mode, input } = run.effect.request;
  assert.deepEqual([kind, mode], ['agent.start', 'repeatable']);
  assert.equal(input.execution_id, run.awaitedId);
  assert.deepEqual([input.agent, input.input, input.isolation], ['writer', 'Write for ann.', 'inherit']);
  assert.equal(input.workflow_execution_id, RUN_ID);
  assert.equal(toJson(input.notify).to, run.address);
  run.agentWord({ status: 'running' });
  run.done({ agent_id: 'a' });
  run.agentWord({ status: 'completed', output: '{"x": 1}', score: 0.9, iterations: 3 });
  const { execution_id: _id, ...rest } = record(run);
  assert.deepEqual(rest, { status: 'success', output: '{"x": 1}', score: 0.9, confidence: 1, iterations: 3 });
  assert.deepEqual(run.path, ['STEP', 'DONE']);
});

test('an agent without validators says its score and confidence itself; validators that found less win', () => {
  const said = '{"score": 0.4, "confidence": 0.3}';
  for (const [output, score, expected] of [
    [said, 1, [0.4, 0.3]],
    [said, 0.8, [0.8, 0.3]],
    ['{"score": 4, "confidence": "high"}', 1, [1, 1]],
    ['[0.5]', 1, [1, 1]],
    ['{broken', 1, [1, 1]],
    ['text', 0.5, [0.5, 1]],
  ] as const) {
    const run = begun(AGENT);
    run.agentWord({ status: 'completed', output, score });
    assert.deepEqual([record(run).score, record(run).confidence], expected, output);
  }
});

test('mounts of an agent are volumes of the run, by template or by name', () => {
  const volumes = [
    { volume: '{{workflow.storage.workspace}}', mount_path: '/w', access_mode: 'read-write' },
    { volume: '{{workflow.storage.shared_volumes.data}}', mount_path: '/d', access_mode: 'read-only' },
    { volume: 'data', mount_path: '/e', access_mode: 'read-only' },
  ];
  const storage = { workspace: {}, shared_volumes: [{ name: 'data', storage_class: 'ephemeral' }] };
  const run = begun({ ...AGENT, volumes }, { spec: { storage } });
  assert.equal(run.effect.request.kind, 'volumes.prepare');
  assert.deepEqual(run.path, [], 'no state runs before its volumes are there');
  run.done({ workspace: { volume_id: 'w-id' }, shared: { data: { volume_id: 'd-id' } } });
  assert.deepEqual(run.effect.request.input.mounts, [
    { volume_id: 'w-id', mount_path: '/w', access_mode: 'read-write' },
    { volume_id: 'd-id', mount_path: '/d', access_mode: 'read-only' },
    { volume_id: 'd-id', mount_path: '/e', access_mode: 'read-only' },
  ]);
  const unknown = begun({ ...AGENT, volumes: [{ volume: 'no', mount_path: '/n', access_mode: 'read-only' }] });
  assert.equal(errorCode(unknown), 'volume_not_found');
});

test('volumes that cannot be made fail the run before its first state', () => {
  const run = begun(AGENT, { spec: { storage: { workspace: {} } } });
  run.fail('quota_exceeded');
  assert.deepEqual(run.path, []);
  assert.equal(run.payloads('WorkflowExecutionFailed')[0]?.reason, 'quota_exceeded');
});

test('a command has everything rendered, the implicit workspace, and its time', () => {
  const run = begun(SYSTEM);
  const { kind, mode, input } = run.effect.request;
  assert.deepEqual([kind, mode], ['command.run', 'once']);
  assert.deepEqual(input, {
    command: 'make ann',
    env: { WHO: 'ann' },
    workdir: '/workspace',
    workspace: { volume_id: RUN_ID, implicit: true },
    timeout_ms: 120_000,
    execution_id: RUN_ID,
    state_name: 'STEP',
  });
  run.exit(0);
  const output = { exit_code: 0, stdout: 'out', stderr: 'err', duration_ms: 7 };
  assert.deepEqual(record(run), { status: 'success', output });
});

for (const [title, end, code, exitCode] of [
  ['exits with 3', (run: DrivenWorkflow) => run.exit(3), 'command_failed', 3],
  ['is ended by a signal', (run: DrivenWorkflow) => run.exit(null), 'command_failed', null],
  ['runs too long', (run: DrivenWorkflow) => run.exit(null, { timed_out: true }), 'state_timed_out', null],
  ['may not run', (run: DrivenWorkflow) => run.fail('forbidden'), 'forbidden', undefined],
  ['gives nonsense', (run: DrivenWorkflow) => run.done('nonsense'), 'program_failed', undefined],
] as const) {
  test(`a command that ${title} fails its state with ${code}`, () => {
    const run = begun(SYSTEM);
    end(run);
    assert.equal(errorCode(run), code);
    const { output } = record(run);
    assert.equal(output === undefined ? undefined : toJson(output).exit_code, exitCode);
    assert.deepEqual(run.path, ['STEP', 'BAD']);
  });
}

test('a run waits for a human only once the approval is open, and goes on with the answer', () => {
  const run = begun({ ...HUMAN, timeout: '1h', default_response: 'no' });
  const [ask] = run.told;
  assert.deepEqual([ask?.to, ask?.type], [`approval/acme/${run.awaitedId}`, 'Ask']);
  const { notify: _notify, ...asked } = toJson(ask?.payload);
  assert.deepEqual(asked, {
    approval_id: run.awaitedId,
    execution_id: RUN_ID,
    state_name: 'STEP',
    prompt: 'Release for ann?',
    timeout_ms: 3_600_000,
    default_response: 'no',
  });
  assert.equal(run.status, 'running');
  assert.equal(run.timers.size, 0, 'the approval keeps the time');
  run.approvalWord('opened');
  assert.equal(run.status, 'waiting_for_human_input');
  run.approvalWord('opened');
  assert.equal(run.payloads('WorkflowHumanInputRequested').length, 1);
  run.approvalWord('answered', 'approved', 'looks good');
  assert.deepEqual(record(run), { status: 'success', output: 'approved', feedback: 'looks good' });
  assert.equal(run.status, 'completed');
  assert.deepEqual(run.path, ['STEP', 'DONE']);
});

test('human.feedback is the feedback, without one the payload, in every later state', () => {
  for (const feedback of ['because', null]) {
    const run = new DrivenWorkflow();
    run.start(manifestOf({ ASK: { ...HUMAN, transitions: [{ target: 'A' }] }, A: pure('{{human.feedback}}') }));
    run.approvalWord('answered', 'rejected', feedback);
    assert.equal(run.blackboard.ran, feedback ?? 'rejected');
  }
});

test('a human who does not answer in time: the default response counts as an answer, without one the state fails', () => {
  const applied = begun({ ...HUMAN, timeout: '1h', default_response: 'no' });
  applied.approvalWord('opened');
  applied.approvalWord('expired', 'no');
  assert.deepEqual(record(applied), { status: 'success', output: 'no', feedback: 'no' });
  assert.equal(applied.payloads('WorkflowHumanInputReceived')[0]?.how, 'expired');
  const none = begun({ ...HUMAN, timeout: '1h', transitions: [{ condition: 'on_success', target: 'DONE' }] });
  none.approvalWord('opened');
  none.approvalWord('expired');
  assert.equal(none.payloads('WorkflowExecutionFailed')[0]?.reason, 'human_input_timeout');
});

test('without a timeout a human is waited for without end', () => {
  const run = begun(HUMAN);
  assert.equal(toJson(run.told[0]?.payload).timeout_ms, null);
});

test('a panel is convened with every judge rendered, and its verdict is the output', () => {
  const run = begun(PANEL);
  const [convene] = run.told;
  assert.deepEqual([convene?.to, convene?.type], [`judge-panel/acme/${run.awaitedId}`, 'Convene']);
  assert.deepEqual(toJson(convene?.payload).judges, [
    { agent: 'strict', input: 'ann', weight: 2, timeout_ms: 60_000 },
    { agent: 'kind', input: '', weight: 1, timeout_ms: 5_000 },
  ]);
  const consensus = { score: 0.8, confidence: 0.9, strategy: 'weighted_average', metadata: {} };
  const individual_results = [{ agent_id: 'strict', score: 0.8, confidence: 0.9, reasoning: 'sound enough' }];
  const agents = [{ agent_id: 'strict', output: { score: 0.8 }, weight: 2 }];
  run.panelWord({ consensus, individual_results, agents });
  assert.deepEqual(record(run), { status: 'success', consensus, individual_results, agents });
});

test('templates see the verdict, and every judge by number', () => {
  const run = new DrivenWorkflow();
  const text = '{{P.consensus.score}} {{P.consensus.confidence}} {{P.agents.0.output.note}}';
  run.start(manifestOf({ P: { ...PANEL, transitions: [{ target: 'A' }] }, A: pure(text) }));
  const consensus = { score: 0.8, confidence: 0.9, strategy: 'x', metadata: {} };
  run.panelWord({ consensus, agents: [{ agent_id: 'strict', output: { note: 'fine' }, weight: 1 }] });
  assert.equal(run.blackboard.ran, '0.8 0.9 fine');
});

test('a panel with too few judges fails its state', () => {
  const run = begun(PANEL);
  run.panelWord({ status: 'failed', error: '1 of 2 judges gave a verdict, 2 are needed' });
  assert.equal(errorCode(run), 'too_few_judges');
});

test('a container has everything rendered and its limits, and what it left is the output', () => {
  const volumes = [{ name: 'workspace', mount_path: '/workspace' }];
  const resources = { cpu: 500, memory: '64Mi', timeout: '30s' };
  const rest = { env: { WHO: '{{input.who}}' }, shell: true, registry_credentials: 'registry/main' };
  const run = begun({ ...CONTAINER, volumes, resources, ...rest });
  const { kind, mode, input } = run.effect.request;
  assert.deepEqual([kind, mode], ['container.run', 'repeatable']);
  assert.deepEqual(input, {
    workflow_execution_id: RUN_ID,
    state_name: 'STEP',
    image: 'alpine:ann',
    image_pull_policy: 'IfNotPresent',
    command: ['echo', 'ann'],
    shell: true,
    env: { WHO: 'ann' },
    workdir: '/workspace',
    mounts: [{ volume_id: RUN_ID, mount_path: '/workspace', read_only: false }],
    cpu_millicores: 500,
    memory_bytes: 64 * 1024 * 1024,
    timeout_ms: 30_000,
    registry_credentials: 'registry/main',
  });
  run.exit(0, { stdout_truncated: true, stdout_bytes: 5_000_000 });
  const output = { exit_code: 0, stdout: 'out', stderr: 'err', duration_ms: 7 };
  assert.deepEqual(record(run), {
    status: 'success',
    output: { ...output, stdout_truncated: true, stderr_truncated: false },
  });
  const [completed] = run.payloads('ContainerRunCompleted');
  assert.deepEqual([completed?.exit_code, completed?.stdout_bytes, completed?.stderr_bytes], [0, 5_000_000, 3]);
});

for (const [title, extra, code] of [
  ['exits with 2', { exit_code: 2 }, 'command_failed'],
  ['runs too long', { exit_code: 137, timed_out: true }, 'container_timed_out'],
  ['uses too much memory', { exit_code: 137, oom_killed: true }, 'out_of_memory'],
  ['writes too much', { exit_code: 137, stopped_by: 'output' }, 'limit_exceeded'],
] as const) {
  test(`a container that ${title} fails its state with ${code}, and its exit code is there`, () => {
    const run = begun(CONTAINER);
    run.exit(extra.exit_code, { ...extra });
    assert.equal(errorCode(run), code);
    assert.equal(toJson(record(run).output).exit_code, extra.exit_code);
  });
}

test('a container is tried max_attempts times in all, with pauses that double', () => {
  const run = begun({ ...CONTAINER, retry: { max_attempts: 4, backoff: '10s' }, timeout: '10m' });
  const pauses: number[] = [];
  for (let attempt = 1; attempt < 4; attempt += 1) {
    if (attempt === 2) run.fail('unavailable');
    else run.exit(1);
    pauses.push((run.timers.get('retry')?.at ?? 0) - run.now);
    assert.equal(run.effects.size, 0);
    run.fire('retry');
  }
  run.exit(1);
  assert.deepEqual(pauses, [10_000, 20_000, 40_000]);
  assert.equal(run.payloads('ContainerRunStarted').length, 4);
  assert.equal(errorCode(run), 'command_failed');
});

test('an attempt that succeeds ends the retries; without a backoff the next follows at once', () => {
  const run = begun({ ...CONTAINER, retry: { max_attempts: 3 } });
  run.exit(1);
  run.exit(0);
  assert.equal(record(run).status, 'success');
  assert.equal(run.payloads('ContainerRunStarted').length, 2);
});

test('a container that cannot be started for good is not tried again', () => {
  const run = begun({ ...CONTAINER, retry: { max_attempts: 3 } });
  run.fail('image_unavailable');
  assert.equal(errorCode(run), 'image_unavailable');
  assert.equal(run.payloads('ContainerRunStarted').length, 1);
});

test('steps of a parallel run start together, and transitions wait for the last', () => {
  const run = begun(CONTAINERS);
  const ids = [...run.effects.keys()];
  assert.equal(ids.length, 3);
  run.exit(0, {}, ids[2]);
  run.exit(0, { stdout: 'linted' }, ids[0]);
  assert.deepEqual(run.path, ['STEP']);
  run.exit(0, {}, ids[1]);
  assert.deepEqual(run.path, ['STEP', 'DONE']);
  const output = toJson(record(run).output);
  assert.deepEqual(Object.keys(output).sort(), ['lint', 'scan', 'test']);
  assert.equal(toJson(output.lint).stdout, 'linted');
});

for (const [completion, codes, success] of [
  ['all_succeed', [0, 0, 0], true],
  ['all_succeed', [0, 1, 0], false],
  ['any_succeed', [1, 1, 0], true],
  ['any_succeed', [1, 1, 1], false],
  ['best_effort', [1, 1, 1], true],
] as const) {
  test(`${completion} with exit codes ${codes.join(', ')} is a ${success ? 'success' : 'failure'}`, () => {
    const run = begun({ ...CONTAINERS, completion });
    const ids = [...run.effects.keys()];
    for (const [index, code] of codes.entries()) run.exit(code, {}, ids[index]);
    assert.equal(record(run).status, success ? 'success' : 'failed');
    const failed = codes.filter((code) => code !== 0).length;
    const [told] = run.payloads('ParallelContainerRunAggregated');
    assert.deepEqual([told?.total_steps, told?.succeeded, told?.failed], [3, 3 - failed, failed]);
  });
}

test('a step that could not start says why in its output', () => {
  const run = begun({ ...CONTAINERS, completion: 'best_effort' });
  const ids = [...run.effects.keys()];
  run.fail('image_unavailable', 'no such image', ids[0]);
  run.exit(0, {}, ids[1]);
  run.exit(0, {}, ids[2]);
  const error = { code: 'image_unavailable', message: 'no such image' };
  const lint = { exit_code: null, stdout: '', stderr: '', duration_ms: 0, error };
  assert.deepEqual(toJson(record(run).output).lint, lint);
});

test('outputs of parallel steps that are too large together fail the state and cancel the rest', () => {
  const run = begun({
    ...CONTAINERS,
    steps: Array.from({ length: 9 }, (_, n) => ({ name: `s${n}`, image: 'alpine', command: ['true'] })),
  });
  const ids = [...run.effects.keys()];
  for (const id of ids.slice(0, 7)) run.exit(0, { stdout: 'x'.repeat(1_000_000) }, id);
  assert.equal(errorCode(run), 'blackboard_full');
  assert.equal(run.effects.size, 0);
});

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
  cancelled.childWord({ status: 'cancelled', reason: 'somebody' });
  assert.equal(errorCode(cancelled), 'cancelled');
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

/** Whom a run must tell when it lets go of a state of this kind. */
const STOPPED: Readonly<Record<string, readonly string[]>> = {
  AGENT: ['execution', 'Cancel'],
  HUMAN: ['approval', 'Withdraw'],
  PANEL: ['judge-panel', 'Cancel'],
  CHILD: ['workflow', 'Cancel'],
  DETACHED: ['workflow', 'Cancel'],
};

for (const [name, state] of Object.entries(KINDS)) {
  test(`a cancel reaches what a state ${name} waits for, and ends the run`, () => {
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
  test(`a state ${name} that takes too long lets go of what it waits for and fails`, () => {
    const run = begun({ ...state, timeout: '7s' });
    const before = run.now;
    const turn = run.fire('state');
    assert.equal(run.now - before, 7_000);
    assert.equal(errorCode(run), 'state_timed_out');
    const told = turn.sends.map(({ to, type }) => [to.split('/')[0], type]);
    assert.deepEqual(told, STOPPED[name] === undefined ? [] : [STOPPED[name]]);
    assert.equal(run.effects.size, 0);
    assert.deepEqual(run.path, ['STEP', 'BAD']);
    assert.equal(run.timers.size, 0);
  });
}

test('a state waits 300 s unless it says otherwise', () => {
  const run = begun(AGENT);
  assert.equal((run.timers.get('state')?.at ?? 0) - run.now, 300_000);
});

test('parallel steps that ended before a time-out stay in the output', () => {
  const run = begun(CONTAINERS);
  run.exit(0, { stdout: 'linted' }, [...run.effects.keys()][0]);
  run.fire('state');
  assert.equal(toJson(toJson(record(run).output).lint).stdout, 'linted');
});

test('a child or agent that says it runs when nobody wants it any more is cancelled, also after the end', () => {
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

test('a start that failed after all cancels the agent it may have started', () => {
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
