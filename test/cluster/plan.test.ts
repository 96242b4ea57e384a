import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Fleet } from '../../cluster/placement/fleet.ts';
import { statusOf } from '../../cluster/placement/fleet-status.ts';
import { changedFleet, movedBetween, planOf } from '../../cluster/placement/plan.ts';
import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import { capabilitiesOf, needsOf } from '../../manifests/node/capabilities.ts';
import { resolveSettings } from '../../manifests/node/settings.ts';
import type { FleetChange, JoiningNodes } from '../../usecases/ports/cluster.ts';

const card = (tags: readonly string[], weight = 1, more: object = {}) =>
  JSON.stringify({
    ...more,
    role: 'hybrid',
    tags,
    weight,
    draining: false,
    version: '1.0.0',
    startedAt: 1,
    pulse: null,
    clusterAddress: null,
    restUrl: null,
  });

const POOLS = [
  { pool: '+gpu', partitions: 16 },
  { pool: 'default', partitions: 64 },
  { pool: 'system', partitions: 8 },
];

const fleetOf = (nodes: Readonly<Record<string, readonly string[]>>): Fleet =>
  new Fleet(
    Object.entries(nodes).map(([node, tags]) => ({ node, incarnation: `${node}-1`, card: card(tags) })),
    POOLS,
    null,
  );

const joining = (count: number, tags: readonly string[] = []): JoiningNodes => ({
  count,
  role: 'hybrid',
  tags,
  weight: 1,
});
const plan = (fleet: Fleet, change: Partial<FleetChange>) =>
  planOf(fleet, changedFleet(fleet, { without: [], join: [], ...change }), () => 3);
const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((all, one) => all + one, 0);

test('work is placed by the tags that only some nodes have; an exclusive node serves only its tags', () => {
  const member = (node: string, tags: readonly string[], more: object) => ({
    node,
    incarnation: `${node}-1`,
    card: card(tags, 1, more),
  });
  const pools = [...POOLS, { pool: '+model:smart', partitions: 16 }];
  const fleet = new Fleet(
    [
      member('a', [], { capabilities: ['model:default', 'model:smart'] }),
      member('b', [], { capabilities: ['model:default'] }),
      member('earlier', [], {}),
      member('g', ['gpu'], { capabilities: ['model:default', 'model:smart'], exclusive: true }),
    ],
    pools,
    null,
  );
  const needs = ['model:default', 'model:smart', 'model:unknown'];
  assert.deepEqual(fleet.scarceIn('default', needs), ['model:smart']);
  assert.deepEqual(
    fleet.without('b').scarceIn('default', needs),
    [],
    'every node that announces the capability has it',
  );
  const ownersOf = (pool: string): string[] => {
    const layout = pools.find((one) => one.pool === pool);
    return layout === undefined ? [] : [...new Set(fleet.holdersOf(layout))].sort();
  };
  assert.deepEqual(ownersOf('+model:smart'), ['a']);
  assert.deepEqual(ownersOf('default'), ['a', 'b', 'earlier']);
  assert.deepEqual(ownersOf('+gpu'), ['g']);
  assert.equal(fleet.without('a').isServed('+model:smart'), false);
});

test('capabilities of nodes and requirements of agents use the same names', () => {
  const config = `apiVersion: svc.dev/v1
kind: NodeConfig
spec:
  llm_providers:
    - { name: a, type: ollama, endpoint: 'http://127.0.0.1:1', models: [{ alias: smart, model: x }, { alias: 'no tag!', model: y }] }
    - { name: b, type: ollama, endpoint: 'http://127.0.0.1:1', enabled: false, models: [{ alias: other, model: x }] }
  mcp_servers: [{ name: github, executable: /bin/true }]
`;
  const settings = resolveSettings({ flags: {}, env: {}, file: config });
  assert.ok(settings.ok, JSON.stringify(settings));
  assert.deepEqual(capabilitiesOf(settings.settings, true), [
    'engine:docker',
    'mcp:github',
    'model:default',
    'model:smart',
  ]);
  const agent = parseAgentManifest(`apiVersion: svc.dev/v1
kind: Agent
metadata: { name: a, version: "1.0.0" }
spec:
  runtime: { model: smart, isolation: docker }
  task: { instruction: x }
  tools: ['mcp:github', 'fs.read']
`);
  assert.ok(agent.ok);
  assert.deepEqual(needsOf(agent.manifest), ['model:smart', 'mcp:github', 'engine:docker']);
});

test('a plan without a node moves its partitions only, and names the tags and pools that no node would serve', () => {
  const fleet = fleetOf({ a: [], b: ['gpu'], c: [] });
  const { nodes, pools, lost_tags, moved_partitions, moved_actors } = plan(fleet, { without: ['b'] });
  const left = nodes.find(({ node_id }) => node_id === 'b');
  assert.deepEqual([left?.change, left?.after], ['leaves', {}]);
  assert.equal(moved_partitions, sum(left?.before ?? {}));
  assert.equal(moved_actors, 3 * moved_partitions);
  assert.ok(pools.every(({ moves }) => moves.every(({ from }) => from === 'b')));
  assert.deepEqual(lost_tags, ['gpu']);
  const gpu = pools.find(({ pool }) => pool === '+gpu');
  assert.deepEqual(gpu?.moves, [{ from: 'b', to: null, partitions: 16, actors: 48 }]);
  assert.deepEqual([gpu?.was_served, gpu?.waiting_for?.reason], [true, 'waiting for a node with tags gpu']);
});

test('nodes that join serve a pool that waited, and take from the others only for themselves', () => {
  const fleet = fleetOf({ a: [], b: [] });
  const { nodes, pools } = plan(fleet, { join: [joining(2, ['gpu'])] });
  assert.deepEqual(
    nodes.map(({ node_id, change }) => `${node_id} ${change}`),
    ['a stays', 'b stays', 'new-1 joins', 'new-2 joins'],
  );
  const gpu = pools.find(({ pool }) => pool === '+gpu');
  assert.deepEqual([gpu?.was_served, gpu?.waiting_for, gpu?.moved_partitions], [false, null, 16]);
  // The caps of a larger fleet may move a few partitions between the others too.
  for (const node of nodes.filter(({ change }) => change === 'joins')) {
    const taken = pools.flatMap(({ moves }) => moves.filter(({ to }) => to === node.node_id));
    assert.equal(
      taken.reduce((all, { partitions }) => all + partitions, 0),
      sum(node.after),
    );
  }
});

test('a node that is not a member cannot leave', () => {
  assert.throws(() => plan(fleetOf({ a: [] }), { without: ['z'] }), { code: 'invalid_argument' });
});

test('the plan says what the fleet does when the change happens', () => {
  const node = fc.stringMatching(/^[a-m][a-z0-9]{0,7}$/);
  const members = fc.dictionary(node, fc.subarray(['gpu', 'eu']), { minKeys: 2, maxKeys: 12 });
  fc.assert(
    fc.property(members, fc.nat(), fc.nat({ max: 3 }), (nodes, pick, count) => {
      const fleet = fleetOf(nodes);
      const gone = Object.keys(nodes)[pick % Object.keys(nodes).length] ?? '';
      const planned = plan(fleet, { without: [gone], join: [joining(count, ['gpu'])] });
      const { [gone]: _left, ...staying } = nodes;
      const news = Array.from({ length: count }, (_, at): [string, string[]] => [`new-${at + 1}`, ['gpu']]);
      const later = fleetOf({ ...staying, ...Object.fromEntries(news) });
      const after = new Map(statusOf(later).members.map(({ node_id, partitions }) => [node_id, partitions]));
      for (const { node_id, after: shares } of planned.nodes) assert.deepEqual(shares, after.get(node_id) ?? {});
      const moved = POOLS.flatMap((layout) => movedBetween(layout, fleet, later));
      assert.equal(planned.moved_partitions, moved.length);
    }),
    { numRuns: 60 },
  );
});
