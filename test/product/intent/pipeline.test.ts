import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { formats, IntentNode, WRITER, writes } from './intent-node.ts';

const PROGRAMS = {
  'add the numbers': 'set -eu\necho "sum=42 of $SVC_INPUTS"',
  'print what you got': 'echo "got $SVC_INPUTS"',
  'print braces': "echo '{{intent}} {{#if x}}'",
  'give up': 'echo "there is no such city" >&2\nexit 3',
  'look around':
    'ls /sys/class/net; id -u; touch /etc/new 2>/dev/null || echo closed; cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max',
  'wait for long': 'sleep 60',
  'answer one': 'sleep 1; echo one',
  'answer two': 'sleep 1; echo two',
  'print too much': 'dd if=/dev/zero bs=1024 count=2048 2>/dev/null | tr "\\000" a',
  'print a lot': 'dd if=/dev/zero bs=1024 count=100 2>/dev/null | tr "\\000" a',
  'read the volume': 'cat /workspace/data.txt; touch /workspace/new 2>/dev/null || echo read-only',
};

describe('a goal reached by a program in a real container', NEEDS_PODMAN, () => {
  let podman: TestPodman;
  let setup: IntentNode;
  before(async () => {
    podman = await TestPodman.start();
    setup = await IntentNode.start(
      [
        // The corrected program of the one that does not parse; the other one is never corrected.
        writes(['mend me', 'This was tried'], 'echo mended'),
        writes('mend me', 'if then'),
        writes('never right', 'if then'),
        writes(['much too long', 'This was tried'], 'echo shorter'),
        writes('much too long', `echo ${'x'.repeat(200_000)}`),
        writes(['odd characters', 'This was tried'], 'echo plain'),
        writes('odd characters', 'echo \u0000'),
        formats('aaaaaaaa', 'It printed many.'),
        { match: { contains: [WRITER, 'in fences'], iteration: 1 }, reply: '```sh\necho fenced\n```' },
        writes('in fences', 'echo plain'),
        ...Object.entries(PROGRAMS).map(([goal, program]) => writes(goal, program)),
        formats('sum=42', 'The sum is 42.'),
      ],
      { podman, execute: { tier_timeouts: { enterprise: 10 } } },
    );
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
    await podman[Symbol.asyncDispose]();
  });

  test('the program is written, checked and run, and the answer is made from what it printed', async () => {
    const { status, ...ended } = await setup.reach('add the numbers', { inputs: { numbers: [40, 2] } });
    assert.equal(status, 'completed');
    assert.ok('final_result' in ended);
    assert.deepEqual([ended.final_result, ended.reused_existing_agent], ['The sum is 42.', false]);
    assert.ok(ended.duration_ms > 0);
  });

  test('without a formatter the answer is the printed output, with the inputs as the program read them', async () => {
    const inputs = { 'odd "name"': ['$(id)', "it's", '{{intent}}', 'ü\n'] };
    const ended = await setup.reach('print what you got', { inputs });
    assert.ok(ended.status === 'completed', JSON.stringify(ended));
    assert.equal(ended.final_result, `got ${JSON.stringify(inputs)}\n`);
    const braces = await setup.reach('print braces');
    assert.equal(braces.status === 'completed' && braces.final_result, '{{intent}} {{#if x}}\n');
  });

  test('a program that fails makes the pipeline fail with its output', async () => {
    const ended = await setup.reach('give up');
    assert.ok(ended.status === 'failed');
    assert.equal(ended.failed_at_state, 'EXECUTE_CODE');
    assert.match(ended.reason, /^command_failed: .*\b3\b.*there is no such city/s);
  });

  test('the container is sealed: no network, user nobody, no writable root, 256 MiB', async () => {
    const ended = await setup.reach('look around');
    assert.ok(ended.status === 'completed', JSON.stringify(ended));
    assert.equal(ended.final_result, 'lo\n65534\nclosed\n268435456\n');
  });

  test('a pipeline gets no more time than the tier allows, whatever was requested', async () => {
    for (const timeout_seconds of [600, 1]) {
      const ended = await setup.reach('wait for long', { timeout_seconds });
      assert.ok(ended.status === 'failed');
      assert.equal(ended.failed_at_state, 'EXECUTE_CODE');
      assert.match(
        ended.reason,
        timeout_seconds === 1 ? /container_timed_out.* 1000 ms/ : /container_timed_out.* 10000 ms/,
      );
    }
  });

  test('a program that does not parse is repaired once; a second failure ends the pipeline', async () => {
    const mended = await setup.reach('mend me');
    assert.equal(mended.status === 'completed' && mended.final_result, 'mended\n');
    const never = await setup.reach('never right');
    assert.equal(never.status === 'failed' && never.failed_at_state, 'VALIDATE_REPAIRED');
  });

  test('a program that cannot be passed to a container is repaired too', async () => {
    for (const [goal, printed] of [
      ['much too long', 'shorter\n'],
      ['odd characters', 'plain\n'],
    ] as const) {
      const ended = await setup.reach(goal);
      assert.equal(ended.status === 'completed' && ended.final_result, printed, JSON.stringify(ended));
    }
  });

  test('a very long output is returned as printed, up to 1 MiB, and the answer says when it was cut', async () => {
    const whole = await setup.reach('print a lot');
    assert.equal(whole.status === 'completed' && whole.final_result, 'a'.repeat(102_400));
    const cut = await setup.reach('print too much');
    assert.ok(cut.status === 'completed', JSON.stringify(cut));
    assert.match(cut.final_result.slice(-100), /a\n\[cut: .*printed more/);
    assert.equal(cut.final_result.split('\n')[0]?.length, 1_048_576);
  });

  test('for a program in a code fence the writer is asked again', async () => {
    const ended = await setup.reach('in fences');
    assert.equal(ended.status === 'completed' && ended.final_result, 'plain\n');
  });

  test('two pipelines at once do not mix', async () => {
    const both = await Promise.all(['answer one', 'answer two'].map((goal) => setup.reach(goal)));
    assert.deepEqual(
      both.map((ended) => ended.status === 'completed' && ended.final_result),
      ['one\n', 'two\n'],
    );
  });

  test('a cancelled pipeline has failed; another run has no pipeline status', async () => {
    const { pipeline_execution_id: id } = await setup.start('wait for long');
    const cancelled = await setup.node.json('POST', `/v1/workflows/executions/${id}/cancel`, {});
    assert.equal(cancelled.status, 200, cancelled.text);
    const ended = await setup.ended(id);
    assert.match(ended.status === 'failed' ? ended.reason : '', /cancelled/);
    const states = { A: { kind: 'System', command: 'finalize', transitions: [] } };
    const other = await setup.node.runWorkflow(
      JSON.stringify({
        ...{ apiVersion: 'svc.dev/v1', kind: 'Workflow', metadata: { name: 'other', version: '1.0.0' } },
        spec: { initial_state: 'A', states },
      }),
    );
    assert.equal((await setup.node.call('GET', `/v1/execute/${other}`)).status, 404);
  });

  test('stream_url streams the run to its end', async () => {
    const { stream_url } = await setup.start('print what you got');
    const response = await fetch(`${setup.node.url}${stream_url}`, { headers: { accept: 'text/event-stream' } });
    assert.equal(response.headers.get('content-type')?.split(';')[0], 'text/event-stream');
    const text = await response.text();
    for (const event of ['WorkflowExecutionStarted', 'ContainerRunCompleted', 'WorkflowExecutionCompleted'])
      assert.ok(text.includes(event), text.slice(0, 2_000));
    const names = [...text.matchAll(/^data: \{"(\w+)"/gm)].map(([, name]) => name);
    assert.equal(names[1], 'IntentExecutionPipelineStarted', names.join());
    assert.equal(names.at(-2), 'IntentExecutionPipelineCompleted', names.join());
  });

  test('a persistent volume is read, and not written', async () => {
    const volume = async (storage_class: string): Promise<string> => {
      const made = await setup.node.json('POST', '/v1/volumes', { name: `for-${storage_class}`, storage_class });
      return String(made.body.id);
    };
    const volume_id = await volume('persistent');
    const put = `/v1/volumes/${volume_id}/files/content?path=data.txt`;
    const headers = { 'content-type': 'application/octet-stream' };
    assert.equal((await setup.node.call('PUT', put, { body: 'from the volume\n', headers })).status, 200);
    const ended = await setup.reach('read the volume', { volume_id });
    assert.equal(
      ended.status === 'completed' && ended.final_result,
      'from the volume\nread-only\n',
      JSON.stringify(ended),
    );
    const ask = async (id: string) =>
      (await setup.node.json('POST', '/v1/execute/intent', { intent: 'x', volume_id: id })).status;
    assert.equal(await ask('00000000-0000-4000-8000-000000000000'), 404);
    assert.equal(await ask(await volume('ephemeral')), 409);
  });
});
