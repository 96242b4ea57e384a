import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '../../../runtime/json.ts';
import { toJson } from '../../support/to-json.ts';
import { DrivenWorkflow, manifestOf, pure, RUN_ID } from './driven-workflow.ts';
import { AGENT, begun, errorCode, HUMAN, PANEL, record, SYSTEM } from './one-state.ts';

test('an agent is started under an id of the run, as the caller of the run, and its answer is the output', () => {
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

test('an agent without validators reports its score and confidence itself; a validator score below 1 replaces that score', () => {
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

test('an unanswered approval applies its default response; without one the state fails', () => {
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

test('without a timeout a run waits for a person without end', () => {
  const run = begun(HUMAN);
  assert.equal(toJson(run.told[0]?.payload).timeout_ms, null);
});

test('a panel is started with every judge rendered, and its verdict is the output', () => {
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

test('each step gets the record of its volume; a run that does not know it looks it up once', () => {
  const known = { size_limit_bytes: 1_024, workflow_execution_id: RUN_ID };
  const twice = manifestOf({
    FIRST: { kind: 'System', command: 'make', transitions: [{ condition: 'always', target: 'STEP' }] },
    STEP: { kind: 'System', command: 'make', transitions: [] },
  });
  const learning = new DrivenWorkflow();
  learning.start(twice);
  assert.deepEqual(learning.effect.request.input.workspace, { volume_id: RUN_ID, implicit: true });
  learning.exit(0, { workspace: known });
  assert.deepEqual(learning.effect.request.input.workspace, { volume_id: RUN_ID, implicit: true, known });

  // A command that an older node ran does not report it.
  const old = new DrivenWorkflow();
  old.start(twice);
  old.exit(0);
  assert.deepEqual(old.effect.request.input.workspace, { volume_id: RUN_ID, implicit: true });

  const storage = { workspace: {}, shared_volumes: [{ name: 'data', storage_class: 'ephemeral' }] };
  const mounts = [{ name: 'data', mount_path: '/d' }];
  const container = { kind: 'ContainerRun', image: 'busybox', command: ['true'], volumes: mounts };
  for (const told of [{}, { known }].map(toJson)) {
    const run = begun(container, { spec: { storage } });
    run.done({ workspace: { volume_id: 'w-id', ...told }, shared: { data: { volume_id: 'd-id', ...told } } });
    assert.deepEqual(run.effect.request.input.mounts, [
      { volume_id: 'w-id', mount_path: '/workspace', read_only: false, ...told },
      { volume_id: 'd-id', mount_path: '/d', read_only: false, ...told },
    ]);
  }
});

test('the workspace of the run is in every state at /workspace, unless it says otherwise or has a mount for it', () => {
  const container = { kind: 'ContainerRun', image: 'busybox', command: ['true'] };
  const mountsOf = (state: JsonObject, extra = {}) => {
    const { mounts, workspace } = begun(state, extra).effect.request.input;
    return mounts ?? workspace;
  };
  const own = { volume_id: RUN_ID, mount_path: '/workspace' };
  assert.deepEqual(mountsOf(AGENT), [{ ...own, access_mode: 'read-write' }]);
  assert.deepEqual(mountsOf(container), [{ ...own, read_only: false }]);
  assert.deepEqual(mountsOf({ ...AGENT, workspace: 'none' }), []);
  assert.deepEqual(mountsOf({ ...container, workspace: 'none' }), []);
  assert.equal(mountsOf({ kind: 'System', command: 'make', workspace: 'none' }), null);
  assert.deepEqual(mountsOf(container, { annotations: { 'svc.dev/containers': 'sealed' } }), []);
  const elsewhere = { name: 'workspace', mount_path: '/src' };
  assert.deepEqual(mountsOf({ ...container, volumes: [elsewhere] }), [
    { volume_id: RUN_ID, mount_path: '/src', read_only: false },
  ]);
  const below = { volume: 'workspace', mount_path: '/workspace/', access_mode: 'read-only' };
  assert.deepEqual(mountsOf({ ...AGENT, volumes: [below] }), [
    { volume_id: RUN_ID, mount_path: '/workspace/', access_mode: 'read-only' },
  ]);
});

test('files of a step go with it, rendered, whatever their size; env may not hold them', () => {
  const text = 'x'.repeat(300_000);
  const files = { 'in/report.txt': 'about {{input.who}}: {{blackboard.text}}' };
  const inputOf = (state: JsonObject) => {
    const run = new DrivenWorkflow();
    run.start(manifestOf({ STEP: { ...state, files, transitions: [] } }), { blackboard: { text } });
    return run.effect.request.input;
  };
  const expected = [{ path: 'in/report.txt', content: `about ann: ${text}` }];
  assert.deepEqual(inputOf({ kind: 'System', command: 'wc -c in/report.txt' }).files, expected);
  const container = inputOf({ kind: 'ContainerRun', image: 'busybox', command: ['wc'] });
  assert.deepEqual([container.files, container.workspace_id], [expected, RUN_ID]);
});

test('a command and a container that filled a volume fail with quota_exceeded and keep what they printed', () => {
  const failure = { code: 'quota_exceeded', message: 'the volume is full' };
  const container = { kind: 'ContainerRun', image: 'busybox', command: ['true'], retry: { max_attempts: 3 } };
  for (const state of [SYSTEM, container]) {
    const run = begun(state);
    run.exit(143, { stdout: 'half', failure });
    assert.equal(errorCode(run), 'quota_exceeded');
    const { output } = record(run);
    assert.ok(isJsonObject(output) && output.stdout === 'half' && output.exit_code === 143);
  }
});
