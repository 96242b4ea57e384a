import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { nodeConfig } from '../support/cluster/node-config.ts';
import { startMongo, type TestMongo } from '../support/ferretdb.ts';
import { NodeProcess } from '../support/node-process.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';
import { svc } from './svc-run.ts';

const missing = serversMissing();
const PARTITIONS = 12;

interface Shown {
  readonly node_id: string;
  readonly status: string;
  readonly partitions: Readonly<Record<string, number>>;
}

describe('svc over a fleet of three', { skip: missing || false }, () => {
  let directory = '';
  let redis: RedisServer;
  let mongo: TestMongo;
  const nodes = new Map<string, NodeProcess>();

  async function spawn(name: string, chaos: object): Promise<void> {
    const config = nodeConfig({
      node: name,
      dataDir: join(directory, name),
      redis: redis.url,
      mongodb: mongo.uri,
      partitions: PARTITIONS,
      tags: name === 'cara' ? ['gpu'] : [],
      watched: true,
      over: { chaos },
    });
    const file = join(directory, `${name}.yaml`);
    await writeFile(file, JSON.stringify(config));
    const node = new NodeProcess(['--config', file]);
    nodes.set(name, node);
    node.spawn();
    await node.url;
  }
  const processOf = (name: string): NodeProcess => nodes.get(name) ?? assert.fail(`no node ${name}`);
  const at = async (name: string, ...args: string[]) => svc(args, { SVC_URL: await processOf(name).url });
  const list = async (name: string, ...filter: string[]): Promise<Shown[]> =>
    JSON.parse((await at(name, 'node', 'list', '--output=json', ...filter)).stdout);
  const held = async (name: string): Promise<number> =>
    (await list('anna')).find(({ node_id }) => node_id === name)?.partitions.default ?? 0;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-cli-fleet-'));
    [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
    const on = { enabled: true, tenants: ['svc-system'] };
    await Promise.all([spawn('anna', on), spawn('bert', { enabled: false }), spawn('cara', on)]);
    await waitUntil('three nodes share the partitions, and each knows it', async () => {
      const lists = await Promise.all([...nodes.keys()].map((name) => list(name)));
      return lists.every(({ length }) => length === 3);
    });
  });
  after(async () => {
    await Promise.all([...nodes.values()].map((node) => node.stop()));
    await Promise.all([redis?.stop(), mongo?.stop()]);
    await rm(directory, { recursive: true, force: true });
  });

  test('every node shows all nodes with the partitions that they should hold', async () => {
    for (const name of nodes.keys()) {
      const shown = await list(name);
      assert.deepEqual(
        shown.map(({ node_id, status }) => [node_id, status]),
        [
          ['anna', 'ACTIVE'],
          ['bert', 'ACTIVE'],
          ['cara', 'ACTIVE'],
        ],
      );
      const sum = shown.reduce((total, { partitions }) => total + (partitions.default ?? 0), 0);
      assert.equal(sum, PARTITIONS);
    }
    assert.deepEqual(
      (await list('bert', '--tag=gpu')).map(({ node_id }) => node_id),
      ['cara'],
    );
    const text = await at('anna', 'node', 'list');
    assert.match(text.stdout, /^cara +ACTIVE +HYBRID +gpu +default \d+, system \d+ /m, text.stdout);
  });

  test('a plan says which partitions a leaving node would hand over, and it hands over those', async () => {
    const planned = JSON.parse((await at('bert', 'cluster', 'plan', '--without=bert', '--output=json')).stdout);
    const shares = new Map(
      planned.nodes.map((one: { node_id: string; after: Record<string, number> }) => [one.node_id, one.after.default]),
    );
    assert.equal(planned.moved_partitions > 0, true);
    const text = (await at('anna', 'cluster', 'plan', '--without', 'bert', '--join', 'tags=gpu,count=2')).stdout;
    assert.match(text, /^bert +leaves +default \d+, system \d+ +-$/m);
    assert.match(text, /^new-2 +joins +- +default \d+$/m);
    const before = await at('anna', 'node', 'drain', 'bert');
    assert.equal(before.code, 0, before.stderr);
    await waitUntil('the others hold what the plan said', async () => {
      const counts = await Promise.all(['anna', 'cara'].map(held));
      return counts[0] === shares.get('anna') && counts[1] === shares.get('cara');
    });
  });

  const takeovers = async (...filter: string[]) => {
    const { stdout } = await at('anna', 'cluster', 'takeovers', '--output=json', ...filter);
    const found: { node: string; from: string | null; reason: string; pool: string; partitions: number }[] =
      JSON.parse(stdout);
    return found;
  };

  test('the history says which nodes took over the partitions of a drained node', async () => {
    await waitUntil('all that it had is in the history', async () => {
      const drained = (await takeovers()).filter(({ from, reason }) => from === 'bert' && reason === 'drained');
      return ['anna', 'cara'].every((name) => drained.some(({ node, pool }) => node === name && pool === 'default'));
    });
    assert.ok((await takeovers('--node=anna')).every(({ node }) => node === 'anna'));
  });

  test('a drain that is sent to another node moves the partitions of the named node to the others', async () => {
    const drained = await at('anna', 'node', 'drain', 'bert');
    assert.deepEqual([drained.code, drained.stdout], [0, 'draining bert\n'], drained.stderr);
    assert.deepEqual(
      (await list('cara', '--status=draining')).map(({ node_id }) => node_id),
      ['bert'],
    );
    await waitUntil(
      'the others should hold what it had',
      async () => (await held('anna')) + (await held('cara')) === 12,
    );
    const self = async () => JSON.parse((await at('bert', 'node', 'status', '--output=json')).stdout).node;
    await waitUntil('it holds nothing', async () => {
      const { draining, partitions } = await self();
      const counts: number[] = Object.values(partitions);
      return draining && counts.every((count) => count === 0);
    });
  });

  test('each node checks its own chaos setting: one that accepts no faults is safe, whichever node is asked', async () => {
    const refused = await at('anna', 'chaos', 'kill-node', 'bert');
    assert.deepEqual([refused.code, refused.stderr], [3, 'svc: spec.chaos.enabled is false on node bert.\n']);
    const asked = await at('bert', 'chaos', 'kill-node', 'anna');
    assert.deepEqual([asked.code, asked.stderr], [3, 'svc: spec.chaos.enabled is false on node bert.\n']);
    assert.deepEqual([processOf('anna').exitCode, processOf('bert').exitCode], [null, null]);
  });

  test('the owner of an actor loses its partition through another node, and it is served again', async () => {
    const hit = async () => {
      const address = `execution/svc-system/${randomUUID()}`;
      const { code, stdout, stderr } = await at('anna', 'chaos', 'kill-owner', address);
      // A partition that was just lost has no owner for a moment, or another one.
      assert.ok(code === 0 || code === 4 || code === 5, stderr);
      return /done by (\w+)/.exec(stdout)?.[1];
    };
    await waitUntil('a partition of cara was hit', async () => (await hit()) === 'cara', 90_000);
    const holds = async (name: string): Promise<number> =>
      JSON.parse((await at(name, 'node', 'status', '--output=json')).stdout).node.partitions.default ?? 0;
    const whole = async () => (await holds('anna')) + (await holds('cara')) === PARTITIONS;
    await waitUntil('every partition is held again', whole);
    await waitUntil('the history says that a lease was lost and taken again', async () =>
      (await takeovers('--node=cara')).some(({ from, reason }) => from === 'cara' && reason === 'lease_lost'),
    );
  });

  test('a node is killed through another, and the rest of the fleet goes on without it', async () => {
    const killed = await at('anna', 'chaos', 'kill-node', 'cara');
    assert.deepEqual([killed.code, killed.stdout], [0, 'kill-node cara: done by cara\n'], killed.stderr);
    await waitUntil('the fleet sees it gone', async () => (await list('anna')).length === 2);
    assert.equal(await held('anna'), PARTITIONS);
    await waitUntil('the history says what anna took over from the dead node', async () =>
      (await takeovers('--node=anna')).some(({ from, reason }) => from === 'cara' && reason === 'died'),
    );
    const { faults } = JSON.parse((await at('anna', 'chaos', 'list', '--output=json')).stdout);
    const said = faults.map(({ kind, node, state }: Record<string, string>) => `${kind} ${node} ${state}`);
    const ofNodes = said.filter((line: string) => line.startsWith('kill-node'));
    assert.deepEqual(ofNodes, ['kill-node cara done', 'kill-node bert refused']);
  });

  test('a node that leaves is gone from the fleet at once', async () => {
    const left = await at('bert', 'node', 'leave', '--timeout', '20');
    assert.deepEqual([left.code, left.stdout], [0, 'bert has left\n'], left.stderr);
    await waitUntil('one node is left', async () => (await list('anna')).length === 1);
    await waitUntil('its process ended in order', () => processOf('bert').exitCode === 0);
  });
});
