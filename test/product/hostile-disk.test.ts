import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { limitedFiles, type SmallDisk, smallFileSystem } from '../support/small-disk.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Answer, agentYaml, ProductNode } from './product-node.ts';

const YAML = { 'content-type': 'application/yaml' };
const REFUSED_WITHIN_MS = 5_000;
/** Too long for a message, so it is stored separately as a file. */
const LONG_INPUT = 'x'.repeat(200_000);

/** Answers to a client while nothing can be written. */
function assertClear(answer: Answer): void {
  assert.equal(answer.status, 503, answer.text);
  assert.equal(answer.body.error, 'unavailable', answer.text);
  assert.match(
    String(answer.body.message),
    /(could not commit|cannot be used): (database or disk is full|disk I\/O error)|could not be stored \(E[A-Z]+\)/,
    answer.text,
  );
  assert.doesNotMatch(answer.text, /\n\s+at /);
}

async function fullAndFree(disk: SmallDisk): Promise<void> {
  await using node = await ProductNode.start({ dataDir: join(disk.directory, 'data') });
  const { pid } = node.process;
  const agent = await node.deploy(agentYaml('writer'));
  const before = await node.run(agent, 'steady');
  await disk.fill(pid);
  const start = (input: string) => node.json('POST', '/v1/executions', { agent_id: agent, input });
  // A write that fits into existing files may still succeed.
  const refused = await waitUntil('a start is refused', async () => {
    const answer = await start(LONG_INPUT);
    return answer.status !== 200 && answer;
  });
  assertClear(refused);
  // A start writes a message: it may be accepted while it fits into the present file; all later ones are refused soon.
  let longestMs = 0;
  const noRoom = await waitUntil('a start with a short input is refused', async () => {
    const began = performance.now();
    const answer = await start('steady');
    longestMs = Math.max(longestMs, performance.now() - began);
    return answer.status !== 200 && answer;
  });
  assertClear(noRoom);
  assert.equal(noRoom.headers.get('retry-after'), '5');
  assert.ok(longestMs < REFUSED_WITHIN_MS, `a start was answered after ${Math.round(longestMs)} ms`);
  const deploy = () => node.call('POST', '/v1/agents?force=true', { body: agentYaml('late'), headers: YAML });
  const notDeployed = await waitUntil('a deploy is refused', async () => {
    const answer = await deploy();
    return answer.status !== 200 && answer;
  });
  assertClear(notDeployed);
  const notReady = await waitUntil('the node reports that it cannot store', async () => {
    const answer = await node.call('GET', '/health/ready');
    return answer.status !== 200 && answer;
  });
  assert.equal(notReady.status, 503);
  assert.match(String(notReady.body.message), /^nothing can be stored, so starts and deploys are refused: /);
  assert.equal((await node.call('GET', '/health')).status, 200);
  assert.equal((await node.call('GET', `/v1/agents/${agent}`)).status, 200, 'stored data can be read');
  assert.equal((await node.call('GET', `/v1/executions/${before}`)).status, 200);

  assert.equal((await node.call('GET', '/health/ready')).status, 503, 'while the disk is full');
  const startedAt = performance.now();
  await disk.free(pid);
  // Without a call that writes.
  await waitUntil('the node is ready again', async () => (await node.call('GET', '/health/ready')).status === 200);
  await waitUntil('a deploy is accepted again', async () => (await deploy()).status === 200);
  const again = await waitUntil('a start is accepted again', async () => {
    const answer = await start('quick');
    return answer.status === 200 && String(answer.body.execution_id);
  });
  console.log(`writes were taken ${Math.round(performance.now() - startedAt)} ms after there was room`);
  for (const execution of [before, again]) {
    await waitUntil(
      `execution ${execution} completes`,
      async () => (await node.statusOf(execution)).status === 'completed',
      30_000,
    );
  }
  assert.ok(!node.process.crashed, node.process.log);
  assert.equal(node.process.pid, pid);
  await node.process.kill('SIGTERM');
  assert.equal(node.process.exitCode, 0, node.process.log);
}

let shown = 0;

for (const [what, open] of [
  ['a full file system', smallFileSystem],
  ['a limit on the size of files', limitedFiles],
] as const) {
  test(`${what} gives clear errors, the node stays up and continues when there is space`, async (context) => {
    const disk = await open();
    if (disk === null) return context.diagnostic(`${what} cannot be made by this user`);
    await using _held = disk;
    shown += 1;
    await fullAndFree(disk);
  });
}

// Only root may mount; a limit on files needs prlimit. Either of them is enough.
test('this machine can make a full disk', () => assert.ok(shown > 0, 'neither mount nor prlimit works here'));
