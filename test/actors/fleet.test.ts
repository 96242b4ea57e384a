import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { fleet, fleetRotation } from '../../actors/fleet/definition.ts';
import { FleetConfigState, FleetState, fleetConfig, MOST_NODES, nodeIds } from '../../actors/fleet/roster.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import { ActorDriver, type DrivenTurn } from '../../runtime/testing/actor-driver.ts';

const NOTHING = { gpu_count: 0, vram_gb: 0, cpu_cores: 0, available_memory_gb: 0, supported_runtimes: [], tags: [] };
const HASH = 'a'.repeat(64);

const entry = (capabilities: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  role: 'WORKER',
  status: 'ACTIVE',
  overdue: false,
  capabilities: { ...NOTHING, ...capabilities },
  grpc_address: '127.0.0.1:50056',
  ...more,
});

function fleetOf(nodes: Readonly<Record<string, JsonObject>>): ActorDriver {
  const actor = new ActorDriver(fleet, SYSTEM_TENANT, 'fleet');
  for (const [node_id, one] of Object.entries(nodes)) actor.send('Hear', { node_id, revision: 1, entry: one });
  return actor;
}

const routed = (turn: DrivenTurn): Json => {
  if (turn.reply?.ok === false) return [turn.reply.code, turn.reply.details ?? []];
  const { value } = turn.reply ?? { value: null };
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value.node_id ?? null) : null;
};
const ask = (actor: ActorDriver, required: JsonObject = {}, number = 0): Json =>
  routed(actor.send('Route', { required, number }));
const idsOf = (actor: ActorDriver): string[] => nodeIds(FleetState.parse(actor.state));

test('work goes to the workers in rotation', () => {
  const actor = fleetOf({ w2: entry(), w1: entry(), w3: entry({}, { role: 'HYBRID' }) });
  assert.deepEqual(
    [0, 1, 2, 3].map((number) => ask(actor, {}, number)),
    ['w1', 'w2', 'w3', 'w1'],
  );
});

test('controllers and draining, unhealthy or overdue nodes get no work; without another node none is healthy', () => {
  const idle = {
    a: entry({}, { role: 'CONTROLLER' }),
    b: entry({}, { status: 'DRAINING' }),
    c: entry({}, { status: 'UNHEALTHY' }),
    d: entry({}, { overdue: true }),
  };
  assert.deepEqual(ask(fleetOf(idle)), ['unavailable', []]);
  assert.deepEqual(ask(fleetOf({})), ['unavailable', []]);
  const actor = fleetOf({ ...idle, w: entry() });
  assert.deepEqual([ask(actor, {}, 0), ask(actor, {}, 1)], ['w', 'w']);
});

for (const [required, fits] of [
  [{ gpu_count: 1 }, true],
  [{ gpu_count: 2 }, false],
  [{ vram_gb: 24 }, true],
  [{ vram_gb: 24.5 }, false],
  [{ cpu_cores: 9 }, false],
  [{ available_memory_gb: 32 }, true],
  [{ supported_runtimes: ['docker'] }, true],
  [{ supported_runtimes: ['docker', 'process'] }, false],
  [{ tags: ['gpu', 'zone:eu'] }, true],
  [{ tags: ['gpu', 'zone:us'] }, false],
  [{ tags: ['gpu'], gpu_count: 1, vram_gb: 8, cpu_cores: 8, available_memory_gb: 1 }, true],
] as const) {
  test(`a worker with one GPU of 24 GB and tags gpu, zone:eu ${fits ? 'fits' : 'does not fit'} ${JSON.stringify(required)}`, () => {
    const gpu = {
      gpu_count: 1,
      vram_gb: 24,
      cpu_cores: 8,
      available_memory_gb: 32,
      supported_runtimes: ['docker'],
      tags: ['gpu', 'zone:eu'],
    };
    const answer = ask(fleetOf({ w1: entry(), w2: entry(gpu) }), JSON.parse(JSON.stringify(required)));
    if (fits) assert.equal(answer, 'w2');
    else assert.ok(Array.isArray(answer) && answer[0] === 'no_capable_worker', JSON.stringify(answer));
  });
}

test('the missing requirements are those of the worker that lacks the fewest', () => {
  const actor = fleetOf({ w1: entry(), w2: entry({ tags: ['gpu'], vram_gb: 8 }) });
  assert.deepEqual(ask(actor, { tags: ['gpu'], vram_gb: 24 }), [
    'no_capable_worker',
    [{ path: 'vram_gb', message: 'vram_gb 24' }],
  ]);
  assert.deepEqual(ask(actor, { tags: ['gpu', 'tpu', 'ssd'] }), [
    'no_capable_worker',
    [
      { path: 'tags', message: 'tags tpu' },
      { path: 'tags', message: 'tags ssd' },
    ],
  ]);
});

test('a read and a repeated update change nothing in the record', () => {
  const actor = fleetOf({ w1: entry() });
  const before = JSON.stringify(actor.state);
  ask(actor);
  actor.send('Hear', { node_id: 'w1', revision: 1, entry: entry({ tags: ['late'] }) });
  assert.equal(JSON.stringify(actor.state), before);
});

test('for any order and number of updates, the newest one of each node stays', () => {
  const word = fc.record({
    node_id: fc.constantFrom('a', 'b', 'constructor', 'toString'),
    revision: fc.integer({ min: 1, max: 12 }),
  });
  // A revision determines whether the node is a member, and how many GPUs it has.
  const entryAt = (revision: number): JsonObject | null => (revision % 4 === 0 ? null : entry({ gpu_count: revision }));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), (words) => {
      const actor = fleetOf({});
      const newest = new Map<string, number>();
      for (const { node_id, revision } of words) {
        actor.send('Hear', { node_id, revision, entry: entryAt(revision) });
        newest.set(node_id, Math.max(revision, newest.get(node_id) ?? 0));
      }
      const there = [...newest].filter(([, revision]) => entryAt(revision) !== null);
      assert.deepEqual(idsOf(actor), there.map(([id]) => id).sort());
      const { rows } = FleetState.parse(actor.state);
      for (const [id, revision] of there) assert.equal(rows[id]?.entry?.capabilities.gpu_count, revision);
    }),
  );
});

test('a node that left is kept as a revision until its own actor is forgotten, unless it comes back', () => {
  const actor = fleetOf({ w1: entry() });
  actor.send('Hear', { node_id: 'w1', revision: 2, entry: null });
  actor.send('Hear', { node_id: 'w1', revision: 1, entry: entry() });
  assert.deepEqual(idsOf(actor), []);
  actor.send('Forget', { node_id: 'w1', revision: 2 });
  assert.deepEqual(FleetState.parse(actor.state).rows, {});
  actor.send('Hear', { node_id: 'w1', revision: 1, entry: entry() });
  actor.send('Forget', { node_id: 'w1', revision: 2 });
  assert.deepEqual(idsOf(actor), ['w1']);
});

test('the fleet takes 10,000 nodes and no more; known ones still change and leave', () => {
  const rows = Object.fromEntries(
    Array.from({ length: MOST_NODES }, (_, n) => [`w${n}`, { revision: 1, entry: entry() }]),
  );
  const actor = fleetOf({ w0: entry() });
  actor.state = FleetState.parse({ rows, config_hash: '' });
  assert.deepEqual(routed(actor.send('Hear', { node_id: 'more', revision: 1, entry: entry() })), [
    'failed_precondition',
    [],
  ]);
  actor.send('Hear', { node_id: 'w0', revision: 2, entry: null });
  actor.send('Hear', { node_id: 'more', revision: 1, entry: entry() });
  assert.equal(idsOf(actor).length, MOST_NODES);
});

test('a configuration change is sent once to every node, and to nodes that join later', () => {
  const actor = fleetOf({ w1: entry(), w2: entry(), gone: entry() });
  actor.send('Hear', { node_id: 'gone', revision: 2, entry: null });
  const told = (turn: DrivenTurn): string[] =>
    turn.sends.filter(({ type }) => type === 'SyncConfig').map(({ to }) => to.split('/')[2] ?? '');
  assert.deepEqual(told(actor.send('ConfigChanged', { config_hash: HASH })), ['w1', 'w2']);
  assert.deepEqual(told(actor.send('Hear', { node_id: 'w3', revision: 1, entry: entry() })), ['w3']);
  assert.deepEqual(told(actor.send('Hear', { node_id: 'constructor', revision: 1, entry: entry() })), ['constructor']);
  assert.deepEqual(told(actor.send('Hear', { node_id: 'w3', revision: 2, entry: entry({ cpu_cores: 1 }) })), []);
});

test('the hash of a configuration is the SHA-256 of its UTF-8 text in lower-case hex', () => {
  const actor = new ActorDriver(fleetConfig, SYSTEM_TENANT, 'fleet');
  const text = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {} # größer\n';
  const stamped = (version: number): string => `# version ${version}\n${text}`;
  const latest = Number.MAX_SAFE_INTEGER;
  const hash = createHash('sha256')
    .update(Buffer.from(stamped(latest), 'utf8'))
    .digest('hex');
  // A count that was lost begins at the time.
  actor.send('SetConfig', { config_yaml: text });
  assert.equal(FleetConfigState.parse(actor.state).config_yaml, stamped(actor.now));
  // Its version grows, whatever the time is; one that the operator's text had counts for nothing.
  actor.state = { config_yaml: `# version ${latest - 1}\n`, config_hash: '' };
  const turn = actor.send('SetConfig', { config_yaml: `# version 7\n${text}` });
  assert.deepEqual(turn.reply, { ok: true, value: { config_hash: hash, config_yaml: stamped(latest) } });
  assert.deepEqual(
    turn.sends.map(({ to, type, payload }) => [to, type, payload]),
    [['fleet/svc-system/fleet', 'ConfigChanged', { config_hash: hash }]],
  );
});

test('each requirement is counted for itself, and at most 256 of them', () => {
  const actor = new ActorDriver(fleetRotation, SYSTEM_TENANT, 'fleet');
  const next = (key: string): Json => {
    const { reply } = actor.send('Next', { key });
    return reply?.ok === true ? reply.value : null;
  };
  assert.deepEqual(
    [next('a'), next('b'), next('a'), next('b'), next('a')],
    [0, 1, 1, 2, 2].map((number) => ({ number })),
  );
  for (let n = 0; n < 300; n += 1) next(`key ${n}`);
  assert.deepEqual(next('key 299'), { number: 305 });
});
