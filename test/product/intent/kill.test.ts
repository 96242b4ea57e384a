import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AGENT_AUTHOR, IntentScene, WRITER } from './scene.ts';

const PROGRAM = 'sleep 3; echo "ran once at $(date +%s)"';

test('a node killed while the program runs, and before, ends as one that was not', NEEDS_PODMAN, async () => {
  await using podman = await TestPodman.start();
  const slowly = { text: PROGRAM, chunks: 10, delay_ms: 200 };
  await using scene = await IntentScene.start([{ match: { contains: [WRITER, 'take your time'] }, reply: slowly }], {
    podman,
  });
  const { pipeline_execution_id: id } = await scene.start('take your time');
  for (const state of ['WRITE_CODE', 'EXECUTE_CODE']) {
    await waitUntil(`the run is in ${state}`, async () => (await scene.run(id)).current_state === state, 30_000);
    await scene.node.process.kill();
    await scene.node.spawn();
  }
  const ended = await scene.ended(id);
  assert.ok(ended.status === 'completed', JSON.stringify(ended));
  assert.match(ended.final_result, /^ran once at \d+\n$/);
  assert.deepEqual(await scene.status(id), ended);
});

test('a node killed while an author mends its manifest deploys it once', async () => {
  const manifest = (spec: object) =>
    stringify({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata: { name: 'mended', version: '1.0.0' }, spec });
  const creates = (spec: object) => [{ name: 'svc.agent.create', arguments: { manifest_yaml: manifest(spec) } }];
  const round = (at: number, reply: unknown) => ({ match: { contains: AGENT_AUTHOR, round: at }, reply });
  await using scene = await IntentScene.start([
    round(1, { tool_calls: creates({ wrong: true }) }),
    round(2, { text: 'I see.', chunks: 3, delay_ms: 500, tool_calls: creates({ task: { instruction: 'Mend.' } }) }),
    round(3, { text: '{"agent_id": "a", "name": "mended", "version": "1.0.0"}', chunks: 3, delay_ms: 500 }),
  ]);
  const id = await scene.generate('agents', 'something');
  for (const calls of [1, 2]) {
    const called = async () => (await scene.node.statusOf(id)).tool_calls_executed === calls;
    await waitUntil(`the author has made ${calls} calls`, called, 30_000);
    await scene.node.process.kill();
    await scene.node.spawn();
  }
  const task = await scene.written(id);
  assert.deepEqual([task.status, task.iteration_count, task.tool_calls_executed], ['completed', 1, 2]);
  const { body } = await scene.node.call('GET', '/v1/agents/lookup/mended');
  const log = await scene.node.call('GET', `/v1/agents/${body.agent_id ?? body.id}/logs`);
  assert.equal(log.body.total, 1, log.text);
});
