import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { svc } from '../../cli/svc-run.ts';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { IntentNode, writes } from './intent-node.ts';

const Started = z.object({ pipeline_execution_id: z.string(), stream_url: z.string() });

describe('the pipeline by its tools and by the command line', NEEDS_PODMAN, () => {
  let podman: TestPodman;
  let setup: IntentNode;
  before(async () => {
    podman = await TestPodman.start();
    const rules = [writes('say hello', 'echo "hello $SVC_INPUTS"'), writes('give up', 'echo no >&2; exit 1')];
    const python = { match: { contains: ['You write one Python program', 'say hello'] }, reply: 'print("hello")' };
    setup = await IntentNode.start([...rules, python], { podman });
  });
  after(async () => {
    await setup[Symbol.asyncDispose]();
    await podman[Symbol.asyncDispose]();
  });

  const call = (tool: string, args: object) => setup.tool(tool, args);

  test('svc.execute.intent, svc.execute.wait, svc.execute.status', async () => {
    const asked = { intent: 'say hello', language: 'bash', inputs: { who: 'ann' }, volume_id: null };
    const { pipeline_execution_id: id, stream_url } = Started.parse(await call('svc.execute.intent', asked));
    assert.equal(stream_url, `/v1/workflows/executions/${id}/logs/stream`);
    const waited = await call('svc.execute.wait', { execution_id: id, timeout_seconds: 60 });
    assert.equal(waited.status, 'completed');
    const { duration_ms, ...status } = await call('svc.execute.status', { pipeline_execution_id: id });
    assert.equal(typeof duration_ms, 'number');
    const final_result = 'hello {"who":"ann"}\n';
    assert.deepEqual(status, { status: 'completed', final_result, reused_existing_agent: false });
  });

  test('svc.execute is the same with defaults, and so is POST /v1/execute', async () => {
    const routed = await setup.node.json('POST', '/v1/execute', { prompt: 'say hello' });
    for (const started of [await call('svc.execute', { prompt: 'say hello' }), routed.body]) {
      const { pipeline_execution_id: id } = Started.parse(started);
      await setup.ended(id);
      const answer = await setup.node.call('GET', `/v1/workflows/executions/${id}`);
      assert.deepEqual(answer.body.input, { language: 'python', inputs: {}, agent: '', new_agent: '' });
    }
  });

  const url = (): string[] => ['--url', setup.node.url];

  test('svc execute --wait prints the answer, and svc execute status shows it', async () => {
    const args = ['execute', 'say hello', '--language', 'bash', '--inputs', '{"who": "bob"}', '--wait'];
    const { code, stdout, stderr } = await svc([...url(), ...args]);
    assert.deepEqual([code, stdout], [0, 'hello {"who":"bob"}\n'], stderr);
    const id = /pipeline execution (\S+)/.exec(stderr)?.[1] ?? '';
    const shown = await svc([...url(), '--output', 'json', 'execute', 'status', id]);
    assert.equal(JSON.parse(shown.stdout).status, 'completed');
  });

  test('svc execute --wait of a program that fails names the step and the reason', async () => {
    const { code, stderr } = await svc([...url(), 'execute', 'give up', '--language', 'bash', '--wait']);
    assert.equal(code, 10);
    assert.match(stderr, /EXECUTE_CODE: command_failed/);
    assert.equal((await svc([...url(), 'execute', 'x', '--timeout-seconds', 'soon'])).code, 2);
  });
});
