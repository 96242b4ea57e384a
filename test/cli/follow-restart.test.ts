import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { CliNode } from './cli-node.ts';
import { SvcRun } from './svc-run.ts';

test('a follower continues after kill -9 and restart of the node, without a gap or a repeat', async () => {
  const setup = await CliNode.open();
  try {
    const args = ['task', 'execute', 'echo', '--input', 'slow', '--follow', '--output', 'json'];
    const run = new SvcRun(args, setup.env);
    await waitUntil('some output was followed', () => run.stdout.split('iteration_output').length > 5);
    await setup.kill();
    await waitUntil('the follower noticed', () => run.stderr.includes('reconnecting'));
    await setup.startAgain();
    const { code, stdout, stderr } = await run.end();
    assert.equal(code, 0, stderr);
    const events = stdout.trimEnd().split('\n');
    assert.equal(stderr.split('reconnecting').length, 2, `said once: ${stderr}`);

    // What was printed is exactly what is recorded.
    const id = JSON.parse(events[0] ?? '{}').execution_started.execution_id;
    const whole = await setup.svc(['task', 'logs', id, '--follow', '--output', 'json']);
    assert.deepEqual(events, whole.stdout.trimEnd().split('\n'));
  } finally {
    await setup.close();
  }
});
