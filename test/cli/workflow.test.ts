import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { drawing } from '../../cli/screen/live-view.ts';
import { LiveViewModel } from '../../cli/screen/live-view-model.ts';
import { plain } from '../../cli/screen/paint.ts';
import { widthOf } from '../../cli/screen/width.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';
import { restServer } from '../transport/rest/rest-server.ts';
import { WORKFLOW_ACTORS, workflowParts } from '../transport/rest/workflow-area.ts';
import { svc as runSvc, SvcRun } from './svc-run.ts';

const manifest = (name: string, version = '1.0.0') => `apiVersion: svc.dev/v1
kind: Workflow
metadata:
  name: ${name}
  version: "${version}"
  input_schema: {type: object, properties: {who: {type: string}}}
spec:
  initial_state: NOTE
  states:
    NOTE: {kind: System, command: update_blackboard, env: {who: "{{input.who}}"}, transitions: [{target: GATE}]}
    GATE:
      kind: Human
      prompt: Ship for {{blackboard.who}}?
      timeout: 1h
      transitions: [{condition: input_equals_yes, target: DONE}, {target: STOP}]
    DONE: {kind: System, command: finalize, env: {shipped: "{{blackboard.who}}"}, transitions: []}
    STOP: {kind: System, command: finalize, env: {shipped: nobody}, transitions: []}
`;

describe('svc workflow', () => {
  let stop: () => Promise<void>;
  let directory = '';
  let env: NodeJS.ProcessEnv = {};
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-cli-workflow-'));
    const kernel = await startKernelNode({ definitions: WORKFLOW_ACTORS });
    const at = await restServer(await workflowParts(kernel));
    env = { SVC_URL: at.base };
    stop = async () => {
      await at[Symbol.asyncDispose]();
      await kernel.stop();
      await rm(directory, { recursive: true });
    };
  });
  after(() => stop());

  const svc = (...args: string[]) => runSvc(args, env);
  const file = async (name: string, text: string) => {
    await writeFile(join(directory, name), text);
    return join(directory, name);
  };
  const idIn = (stderr: string) => /^workflow execution ([0-9a-f-]{36})$/m.exec(stderr)?.[1];

  test('validate prints each finding with line, rule and cure, and ends with 2 on errors', async () => {
    const bad = await file('bad.yaml', manifest('bad').replace('target: GATE', 'target: GAET'));
    const refused = await svc('workflow', 'validate', bad);
    assert.equal(refused.code, 2, refused.stderr);
    assert.match(
      refused.stdout,
      /bad\.yaml:10:\d+: error unknown_state: spec\.states\.NOTE\.transitions\[0\]\.target: .*"GAET"; did you mean "GATE"\?\n {4}\S/m,
    );
    assert.match(refused.stdout, /not valid, 1 error, 0 warnings\n$/);
    const odd = await file('odd.yaml', manifest('odd').replace('      timeout: 1h\n', ''));
    const warned = await svc('workflow', 'validate', odd);
    assert.deepEqual(
      [warned.code, /odd\.yaml:11:5: warning approval_without_timeout: /.test(warned.stdout)],
      [0, true],
      warned.stdout,
    );
    const machine = await svc('--output', 'json', 'workflow', 'validate', odd);
    assert.equal(JSON.parse(machine.stdout).valid, true);
    assert.equal((await svc('workflow', 'deploy', bad)).code, 2);
  });

  test('deploy, list, show, promote, demote and delete', async () => {
    const path = await file('one.yaml', manifest('one'));
    assert.match((await svc('workflow', 'deploy', path)).stdout, /^deployed workflow [0-9a-f-]{36}\n$/);
    const again = await svc('workflow', 'deploy', path);
    assert.deepEqual([again.code, /use --force/.test(again.stderr)], [4, true]);
    assert.equal((await svc('workflow', 'deploy', path, '--force')).code, 0);
    assert.match((await svc('workflow', 'list')).stdout, /^one +1\.0\.0 +deployed +tenant +NOTE/m);
    assert.match((await svc('workflow', 'show', 'one')).stdout, /\n\napiVersion: svc\.dev\/v1\n/);
    assert.equal((await svc('workflow', 'promote', 'one')).stdout, 'one is in scope global\n');
    assert.equal((await svc('workflow', 'demote', 'one')).stdout, 'one is in scope tenant\n');
    assert.equal((await svc('workflow', 'delete', 'one')).stdout, 'deleted workflow one\n');
    assert.equal((await svc('workflow', 'show', 'one')).code, 1);
  });

  test('a run is started, waits, is signalled and logged', async () => {
    await svc('workflow', 'deploy', await file('two.yaml', manifest('two')));
    assert.equal((await svc('workflow', 'run', 'two', '--input', '{"who": 3}')).code, 2);
    const started = await svc('workflow', 'run', 'two', '--input', '{"who": "zoe"}');
    const id = started.stdout.trim();
    assert.match(id, /^[0-9a-f-]{36}$/, started.stderr);
    const status = await waitUntil('it waits for approval', async () => {
      const { stdout } = await svc('workflow', 'status', id);
      return stdout.includes('waiting_for_human_input') ? stdout : undefined;
    });
    assert.match(status, /^waiting_for +\S.*$/m);
    assert.equal((await svc('workflow', 'signal', id, 'yes')).stdout, `signalled workflow execution ${id}\n`);
    const followed = await svc('workflow', 'logs', id, '--follow');
    assert.deepEqual([followed.code, followed.stdout.trimEnd().split('\n').at(-1)], [0, 'completed']);
    assert.equal((await svc('workflow', 'signal', id, 'yes')).code, 4);
    assert.match((await svc('workflow', 'logs', id)).stdout, /WorkflowHumanInputReceived/);
    assert.equal((await svc('workflow', 'delete', id, '--run')).code, 0);
    assert.equal((await svc('workflow', 'status', id)).code, 1);
  });

  test('a run whose last state failed ends the command with 10, says why, and is found by its outcome', async () => {
    const path = await file(
      'failing.yaml',
      `apiVersion: svc.dev/v1
kind: Workflow
metadata: {name: failing, version: "1.0.0"}
spec:
  initial_state: STOP
  states: {STOP: {kind: System, command: fail, env: {code: out_of_stock, message: no lamp is left}, transitions: []}}
`,
    );
    const { code, stderr } = await svc('run', path);
    assert.equal(code, 10, stderr);
    assert.match(stderr, /the execution ended as failed: out_of_stock: state STOP failed: no lamp is left\n$/);
    const id = idIn(stderr) ?? '';
    const shown = JSON.parse((await svc('--output', 'json', 'workflow', 'status', id)).stdout);
    assert.deepEqual([shown.status, shown.outcome, shown.error.code], ['completed', 'failed', 'out_of_stock']);
    const listed = await waitUntil('it is listed', async () => {
      const { stdout } = await svc('--output', 'json', 'workflow', 'executions', 'list', '--outcome', 'failed');
      return stdout.includes(id) ? stdout : undefined;
    });
    assert.equal(JSON.parse(listed)[0].error.message, 'state STOP failed: no lamp is left');
    assert.equal((await svc('workflow', 'executions', 'list', '--outcome', 'succeeded')).stdout.includes(id), false);
  });

  test('svc run deploys what the file says and follows it: plain lines, and the output alone on standard output', async () => {
    const path = await file('three.yaml', manifest('three'));
    const run = new SvcRun(['run', path, '--input', '{"who": "ann"}', '--intent', 'ship'], env);
    await waitUntil('it says that it waits', async () =>
      /GATE: waits for approval [0-9a-f-]{36}: Ship for ann\?/.test(run.stderr) ? true : undefined,
    );
    const id = idIn(run.stderr) ?? assert.fail(run.stderr);
    await waitUntil('the approval is taken', async () =>
      (await svc('workflow', 'signal', id, 'yes')).code === 0 ? true : undefined,
    );
    const { code, stdout, stderr } = await run.end();
    assert.deepEqual([code, JSON.parse(stdout)], [0, { shipped: 'ann' }]);
    assert.ok(!stderr.includes('\u001b'), 'no redrawing where there is no terminal');
    const lines = ['NOTE: entered (System)', 'NOTE: success → GATE', 'GATE: entered', 'DONE: success', 'completed'];
    const places = lines.map((line) => stderr.indexOf(line));
    assert.ok(!places.includes(-1), stderr);
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
  });

  test('svc run ends with 10 when the run is cancelled, and with 130 and a way to go on after Ctrl-C', async () => {
    const path = await file('four.yaml', manifest('four'));
    const [cancelled, left] = [new SvcRun(['run', path], env), new SvcRun(['run', path], env)];
    for (const run of [cancelled, left])
      await waitUntil('it waits', async () => (/waits for approval/.test(run.stderr) ? true : undefined));
    await svc('workflow', 'cancel', idIn(cancelled.stderr) ?? assert.fail());
    const ended = await cancelled.end();
    assert.deepEqual([ended.code, /^svc: the execution was cancelled/m.test(ended.stderr)], [10, true], ended.stderr);
    left.child.kill('SIGINT');
    const stopped = await left.end();
    assert.equal(stopped.code, 130, stopped.stderr);
    assert.match(stopped.stderr, new RegExp(`workflow logs ${idIn(left.stderr)} --follow --after \\d+`));
  });
});

describe('live view', () => {
  const event = (name: string, payload: object) => ({ id: 1, name, payload: { ...payload }, data: '' });
  const at = (seconds: number) => new Date(seconds * 1_000).toISOString();

  test('every state has a mark, its time and its outcome; a state that was never entered is skipped', () => {
    const model = new LiveViewModel(['A', 'B', 'C', 'D']);
    model.add(event('WorkflowStateEntered', { state_name: 'A', entered_at: at(1) }));
    model.add(
      event('WorkflowStateExited', {
        state_name: 'A',
        status: 'success',
        output: { output: { stdout: 'built\n' } },
        exited_at: at(3),
      }),
    );
    model.add(event('WorkflowStateEntered', { state_name: 'B', entered_at: at(3) }));
    model.add(event('WorkflowHumanInputRequested', { state_name: 'B', prompt: 'Ship?', approval_id: 'a-1' }));
    const shown = (width = 80, height = 10) => drawing(model.lines, { paint: plain, width, height, now: 5_500 });
    assert.deepEqual(shown(), [
      '✔ A done       2.0 s  built',
      '⏸ B waiting    2.5 s  Ship? (approval a-1)',
      '· C pending',
      '· D pending',
    ]);
    model.wait('waits for an approval');
    assert.match(shown()[1] ?? '', /waits for an approval$/);
    assert.ok(shown(24).every((line) => widthOf(line) <= 24));
    assert.deepEqual(shown(80, 3).at(-1), '  … and 2 more states');
    model.add(event('WorkflowStateExited', { state_name: 'B', status: 'failed', exited_at: at(6) }));
    model.add(event('WorkflowExecutionFailed', { error: 'x', failed_at: at(6) }));
    assert.deepEqual(
      model.lines.map(({ mark }) => mark),
      ['done', 'failed', 'skipped', 'skipped'],
    );
  });
});
