import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEEDS_PODMAN, TestPodman } from '../../support/podman.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { IntentScene, WRITER } from './scene.ts';

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
