import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { CliNode } from './cli-node.ts';

const nodeId = async (setup: CliNode): Promise<string> =>
  JSON.parse((await setup.svc(['node', 'status', '--output', 'json'])).stdout).node.node_id;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a node without chaos enabled accepts no faults', async () => {
  const setup = await CliNode.open();
  try {
    const id = await nodeId(setup);
    for (const args of [
      ['kill-node', id],
      ['freeze-node', id],
      ['kill-actor', 'execution/svc-system/one'],
      ['kill-owner', 'execution/svc-system/one'],
    ]) {
      const { code, stderr } = await setup.svc(['chaos', ...args]);
      assert.equal(code, 3, stderr);
      assert.equal(stderr, `svc: spec.chaos.enabled is false on node ${id}.\n`);
    }
    assert.equal(setup.node.exitCode, null);
  } finally {
    await setup.close();
  }
});

describe('svc chaos', () => {
  let setup: CliNode;
  let id = '';
  before(async () => {
    setup = await CliNode.open('  chaos: { enabled: true, tenants: [svc-system] }\n');
    id = await nodeId(setup);
  });
  after(() => setup.close());

  test('an actor that is killed while it works, and one whose owner loses it, end as without the fault', async () => {
    for (const kind of ['kill-actor', 'kill-owner']) {
      const started = await setup.svc(['task', 'execute', 'echo', '--input', 'lasting']);
      const address = `execution/svc-system/${started.stdout.trim()}`;
      const hit = await setup.svc(['chaos', kind, address]);
      assert.deepEqual([hit.code, hit.stdout], [0, `${kind} ${address}: done by ${id}\n`], hit.stderr);
      const ended = await setup.svc(['task', 'logs', started.stdout.trim(), '--follow']);
      assert.equal(ended.code, 0, ended.stderr);
    }
  });

  test('tenants that the settings do not name get no faults', async () => {
    const { code, stderr } = await setup.svc(['chaos', 'kill-actor', 'execution/acme/one']);
    assert.deepEqual([code, stderr], [3, `svc: spec.chaos.tenants of node ${id} does not name acme.\n`]);
  });

  test('a frozen node answers no call until it thaws', async () => {
    // Frozen a little after it answered: on a slow machine before the program that asked for it has ended.
    const asked = setup.svc(['chaos', 'freeze-node', id, '--ms', '1500']);
    await waitUntil('the node does not answer within 300 ms', async () =>
      fetch(`${setup.url}/health`, { signal: AbortSignal.timeout(300) }).then(
        () => false,
        () => true,
      ),
    );
    await waitUntil('the node answers again', async () => (await fetch(`${setup.url}/health`)).ok);
    const frozen = await asked;
    assert.equal(frozen.code, 0, frozen.stderr);
  });

  test('faults are listed newest first, and a killed node lists its own after its restart', async () => {
    const killed = await setup.svc(['chaos', 'kill-node', id]);
    assert.deepEqual([killed.code, killed.stdout], [0, `kill-node ${id}: done by ${id}\n`], killed.stderr);
    await waitUntil('the process is gone', () => !isAlive(setup.node.pid));
    await setup.startAgain();
    const { stdout } = await setup.svc(['chaos', 'list', '--output', 'json']);
    const { counts, faults } = JSON.parse(stdout);
    assert.deepEqual(counts, { 'kill-actor': 1, 'kill-owner': 1, 'kill-node': 1, 'freeze-node': 1 });
    assert.deepEqual([faults[0].kind, faults[0].state, faults[0].by], ['kill-node', 'done', 'local-operator']);
    assert.match((await setup.svc(['chaos', 'list'])).stdout, /^AT +KIND +TARGET +STATE +NODE +BY +REASON$/m);
  });

  test('wrong use is exit code 2', async () => {
    for (const args of [
      ['freeze-node', id, '--ms', '60001'],
      ['kill-actor', 'nonsense'],
      ['kill-node'],
      ['burn-node'],
    ]) {
      assert.equal((await setup.svc(['chaos', ...args])).code, 2, args.join(' '));
    }
  });
});
