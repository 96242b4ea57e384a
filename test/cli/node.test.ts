import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { CliNode } from './cli-node.ts';
import { svc } from './svc-run.ts';

const MANAGED = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: { observability: { logging: { level: warn } } }\n';
const NEEDS_TPU = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: picky, version: "1.0.0" }
spec:
  task: { prompt_template: "{{input}}" }
  execution: { target_tags: [tpu] }
`;

describe('svc node', () => {
  let setup: CliNode;
  let id = '';
  before(async () => {
    setup = await CliNode.open('  node: { tags: [gpu] }\n');
    id = JSON.parse((await setup.svc(['node', 'status', '--output', 'json'])).stdout).node.node_id;
  });
  after(() => setup.close());

  test('status shows the node, the fleet and the pools without a node', async () => {
    const { code, stdout, stderr } = await setup.svc(['node', 'status']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ready +true$/m);
    assert.match(stdout, /^partitions +.*default 64/m);
    assert.match(stdout, /^fleet +1 ACTIVE, 0 DRAINING, 0 UNHEALTHY$/m);
    assert.match(stdout, /^chaos +false$/m);
  });

  test('list and show, by status and by tag', async () => {
    const { stdout } = await setup.svc(['node', 'list']);
    assert.match(stdout, /^NODE_ID +STATUS +ROLE +TAGS +PARTITIONS +VERSION +LAST_HEARTBEAT_AT +MEMBER\n/);
    assert.match(stdout, new RegExp(`^${id} +ACTIVE +HYBRID +gpu +default 64`, 'm'));
    const ids = async (...filter: string[]) =>
      JSON.parse((await setup.svc(['node', 'list', '--output', 'json', ...filter])).stdout).length;
    assert.deepEqual(
      [await ids('--tag=gpu'), await ids('--tag=tpu'), await ids('--status=draining'), await ids('--status=active')],
      [1, 0, 0, 1],
    );
    assert.equal((await setup.svc(['node', 'list', '--status', 'asleep'])).code, 2);
    assert.match((await setup.svc(['node', 'show', id])).stdout, /^member +true$/m);
    const unknown = await setup.svc(['node', 'show', 'nobody']);
    assert.deepEqual([unknown.code, unknown.stderr], [1, 'svc: There is no node nobody.\n']);
  });

  test('a live node is not removed', async () => {
    const { code, stderr } = await setup.svc(['node', 'remove', id]);
    assert.equal(code, 4);
    assert.match(stderr, /is a live member: shut it down first/);
  });

  test('configuration for all nodes is set, read back, and refused with the place of what is wrong', async () => {
    await writeFile(setup.file('managed.yaml'), MANAGED);
    const set = await setup.svc(['node', 'config', 'set', setup.file('managed.yaml')]);
    assert.equal(set.code, 0, set.stderr);
    assert.match(set.stdout, /^set configuration [0-9a-f]{64}$/m);
    const { stdout } = await setup.svc(['node', 'config', 'get']);
    const [, version] = /^# version (\d+)\n/.exec(stdout) ?? [];
    assert.equal(stdout, `# version ${version}\n${MANAGED}`);
    const wrong = await setup.svc(['node', 'config', 'set', '-'], MANAGED.replace('warn', 'loud'));
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /standard input:3:\d+: spec\.observability\.logging\.level: /);
    assert.equal((await setup.svc(['node', 'config', 'push'])).code, 0);
  });

  test('an execution whose tags no node has says what it waits for, in every view', async () => {
    await setup.svc(['agent', 'deploy', '-'], NEEDS_TPU);
    const started = await setup.svc(['task', 'execute', 'picky', '--input', 'x']);
    assert.deepEqual([started.code, started.stderr], [0, 'waiting for a node with tags tpu\n']);
    const execution = started.stdout.trim();
    const status = await setup.svc(['task', 'status', execution]);
    assert.match(status.stdout, /^waiting_for +waiting for a node with tags tpu$/m);
    const list = await setup.svc(['task', 'list']);
    assert.match(list.stdout, new RegExp(`^${execution} +picky +pending .* waiting for a node with tags tpu$`, 'm'));
    const json = JSON.parse((await setup.svc(['task', 'status', execution, '--output=json'])).stdout);
    assert.deepEqual(json.waiting_for, {
      kind: 'node',
      tags: ['tpu'],
      reason: 'waiting for a node with tags tpu',
    });
    assert.match((await setup.svc(['node', 'status'])).stdout, /^waiting +\+tpu: waiting for a node with tags tpu$/m);
  });

  test('drain, then leave: the node hands over and its process ends by itself with code 0', async () => {
    const drained = await setup.svc(['node', 'drain', id]);
    assert.deepEqual([drained.code, drained.stdout], [0, `draining ${id}\n`]);
    assert.match((await setup.svc(['node', 'list', '--status=draining'])).stdout, new RegExp(`^${id} `, 'm'));
    const left = await setup.svc(['node', 'leave', '--timeout', '20']);
    assert.deepEqual([left.code, left.stdout], [0, `${id} has left\n`], left.stderr);
    await waitUntil('the process ends', () => setup.node.exitCode !== null);
    assert.equal(setup.node.exitCode, 0);
  });
});

test('a push that a node refuses is exit code 4 with a line for each node', async () => {
  const answer = {
    nodes: [
      { node_id: 'a', accepted: true, reason: null },
      { node_id: 'b', accepted: false, reason: 'no' },
    ],
  };
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  try {
    const pushed = await svc(['node', 'config', 'push'], { SVC_URL: `http://127.0.0.1:${address.port}` });
    assert.deepEqual([pushed.code, pushed.stderr], [4, 'svc: 1 of 2 nodes did not accept it\n']);
    assert.match(pushed.stdout, /^b +false +no$/m);
  } finally {
    server.close();
  }
});
