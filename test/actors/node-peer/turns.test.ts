import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HEARTBEAT_INTERVAL_MS, nodePeerActor } from '../../../actors/node-peer/definition.ts';
import { NodePeerState } from '../../../actors/node-peer/state.ts';
import { SYSTEM_TENANT } from '../../../runtime/identity.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { ActorDriver, type DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import type { NodePeerStatus } from '../../../usecases/node-api.ts';

const HASH_A = 'a'.repeat(64);
const HASH_B = 'b'.repeat(64);
const registration = {
  role: 'WORKER',
  capabilities: {
    gpu_count: 1,
    vram_gb: 24,
    cpu_cores: 8,
    available_memory_gb: 32,
    supported_runtimes: ['docker'],
    tags: ['gpu'],
  },
  grpc_address: '127.0.0.1:50056',
  public_key_pem: 'key A',
};

function unknown(): ActorDriver {
  return new ActorDriver(nodePeerActor(), SYSTEM_TENANT, 'w1');
}

function registered(): ActorDriver {
  const actor = unknown();
  actor.send('Register', registration);
  return actor;
}

const peerOf = (actor: ActorDriver) => {
  const { peer } = NodePeerState.parse(actor.state);
  assert.ok(peer !== null, 'not registered');
  return peer;
};

const beat = (actor: ActorDriver, status: NodePeerStatus = 'ACTIVE', changes: JsonObject = {}): DrivenTurn =>
  actor.send('Heartbeat', {
    peer_id: NodePeerState.parse(actor.state).peer?.peer_id ?? 'none',
    active_execution_count: 2,
    cpu_utilization_percent: 12.5,
    memory_utilization_percent: 40,
    status,
    ...changes,
  });

const answered = (turn: DrivenTurn): Json => (turn.reply?.ok === true ? turn.reply.value : (turn.reply?.code ?? null));
const commandsOf = (turn: DrivenTurn): Json => {
  const answer = answered(turn);
  return answer !== null && typeof answer === 'object' && !Array.isArray(answer) ? (answer.commands ?? []) : answer;
};
const wordsOf = (turn: DrivenTurn): Json[] =>
  turn.sends.filter(({ type }) => type === 'Hear').map((one) => one.payload);
const namesOf = (turn: DrivenTurn): string[] => turn.events.map(({ name }) => name);

for (const [type, payload] of [
  ['Admit', { public_key_pem: 'key A' }],
  ['Heartbeat', { ...registration, peer_id: 'x', status: 'ACTIVE' }],
  ['Deregister', { reason: 'x' }],
  ['Drain', {}],
  ['Shutdown', { reason: 'x' }],
  ['Remove', {}],
  ['SyncConfig', { config_version: HASH_A }],
] as const) {
  test(`${type} to an unregistered id creates no peer`, () => {
    const actor = unknown();
    assert.equal(answered(actor.send(type, payload)), 'not_found');
    assert.equal(actor.revision, 0);
  });
}

test('registering again keeps the peer id and replaces the capabilities', () => {
  const actor = registered();
  const { peer_id } = peerOf(actor);
  const turn = actor.send('Register', { ...registration, role: 'HYBRID', grpc_address: 'w1.example:50056' });
  assert.equal(peerOf(actor).peer_id, peer_id);
  assert.equal(peerOf(actor).role, 'HYBRID');
  assert.deepEqual(namesOf(turn), ['peer_registered']);
  assert.equal(wordsOf(turn).length, 1);
  const same = actor.send('Register', { ...registration, role: 'HYBRID', grpc_address: 'w1.example:50056' });
  assert.deepEqual([namesOf(same), wordsOf(same)], [[], []]);
});

test('a registered id is refused to another key until it is deregistered or removed', () => {
  for (const leave of ['Deregister', 'Remove']) {
    const actor = registered();
    const { peer_id } = peerOf(actor);
    assert.equal(answered(actor.send('Admit', { public_key_pem: 'key B' })), 'forbidden');
    assert.equal(answered(actor.send('Register', { ...registration, public_key_pem: 'key B' })), 'forbidden');
    assert.equal(answered(actor.send('Admit', { public_key_pem: 'key A' })), null);
    actor.send(leave, leave === 'Remove' ? {} : { reason: 'graceful_shutdown' });
    assert.equal(answered(actor.send('Admit', { public_key_pem: 'key B' })), null);
    actor.send('Register', { ...registration, public_key_pem: 'key B' });
    assert.notEqual(peerOf(actor).peer_id, peer_id);
  }
});

test('a node is deregistered by its own key only', () => {
  const actor = registered();
  const other = actor.send('Deregister', { reason: 'x', public_key_pem: 'key B' });
  assert.deepEqual(answered(other), { accepted: false, word: null });
  peerOf(actor);
  actor.send('Deregister', { reason: 'x', public_key_pem: 'key A' });
  assert.equal(NodePeerState.parse(actor.state).peer, null);
});

test('after a node left its actor accepts only a registration, and in the end removes the node from the fleet', () => {
  const actor = registered();
  actor.send('Deregister', { reason: 'graceful_shutdown' });
  assert.equal(answered(beat(actor)), 'failed_precondition');
  assert.equal(answered(actor.send('Drain', {})), 'not_found');
  assert.deepEqual(answered(actor.send('Deregister', { reason: 'again' })), { accepted: false, word: null });
  assert.deepEqual([...actor.timers.keys()], ['left']);
  const turn = actor.fire('left');
  assert.deepEqual(
    turn.sends.map(({ type, payload }) => [type, payload]),
    [['Forget', { node_id: 'w1', revision: 2 }]],
  );
  assert.equal(NodePeerState.parse(actor.state).forgotten, true);
});

test('a heartbeat stores load, time and status, and sends the fleet only what routing needs', () => {
  const actor = registered();
  assert.equal(peerOf(actor).last_heartbeat_at, '');
  const turn = beat(actor);
  assert.deepEqual([namesOf(turn), wordsOf(turn)], [[], []]);
  assert.equal(peerOf(actor).last_heartbeat_at, '2026-01-01T00:00:00.000Z');
  assert.deepEqual(peerOf(actor).load, {
    active_execution_count: 2,
    cpu_utilization_percent: 12.5,
    memory_utilization_percent: 40,
  });
});

test('a heartbeat with the peer id of another node is forbidden and changes nothing', () => {
  const actor = registered();
  actor.send('Drain', {});
  assert.equal(answered(beat(actor, 'ACTIVE', { peer_id: 'another' })), 'forbidden');
  assert.equal(peerOf(actor).commands.length, 1);
  assert.equal(peerOf(actor).last_heartbeat_at, '');
});

/** What a node does, and its status after. `miss` is three intervals of silence. */
const histories: readonly (readonly [readonly string[], NodePeerStatus])[] = [
  [[], 'ACTIVE'],
  [['DRAINING'], 'DRAINING'],
  [['DRAINING', 'ACTIVE'], 'ACTIVE'],
  [['UNHEALTHY'], 'UNHEALTHY'],
  [['UNHEALTHY', 'ACTIVE'], 'ACTIVE'],
  [['overdue'], 'ACTIVE'],
  [['miss'], 'UNHEALTHY'],
  [['miss', 'ACTIVE'], 'ACTIVE'],
  [['miss', 'DRAINING'], 'DRAINING'],
  [['miss', 'register'], 'ACTIVE'],
  [['DRAINING', 'miss'], 'UNHEALTHY'],
  [['drain'], 'DRAINING'],
  [['drain', 'ACTIVE'], 'DRAINING'],
  [['drain', 'ACTIVE', 'ACTIVE'], 'DRAINING'],
  [['drain', 'miss'], 'UNHEALTHY'],
  [['drain', 'miss', 'ACTIVE'], 'DRAINING'],
  [['miss', 'drain'], 'UNHEALTHY'],
  [['miss', 'drain', 'ACTIVE'], 'DRAINING'],
  // The command waits for the node's heartbeat, so DRAINING stays. Once it was delivered, a registration is a restarted
  // node.
  [['drain', 'register'], 'DRAINING'],
  [['drain', 'ACTIVE', 'register'], 'ACTIVE'],
  [['drain', 'ACTIVE', 'register', 'ACTIVE'], 'ACTIVE'],
];

for (const [steps, status] of histories) {
  test(`registered, ${steps.join(', ')}: the node is ${status}`, () => {
    const actor = registered();
    for (const step of steps) {
      if (step === 'drain') actor.send('Drain', {});
      else if (step === 'register') actor.send('Register', registration);
      else if (step === 'overdue') actor.fire('silence');
      else if (step === 'miss') {
        actor.fire('silence');
        actor.fire('silence');
      } else if (step === 'ACTIVE' || step === 'DRAINING' || step === 'UNHEALTHY') beat(actor, step);
    }
    assert.equal(peerOf(actor).status, status);
    const words = actor.turns.flatMap(wordsOf);
    const { role, overdue, capabilities, grpc_address } = peerOf(actor);
    assert.deepEqual(words.at(-1), {
      node_id: 'w1',
      revision: words.length,
      entry: { role, status, overdue, capabilities, grpc_address },
    });
  });
}

test('two silent intervals stop new work, three make the node unhealthy, each counted from the last heartbeat', () => {
  const actor = registered();
  actor.advance(HEARTBEAT_INTERVAL_MS);
  const beatenAt = actor.now;
  beat(actor);
  actor.fire('silence');
  assert.equal(actor.now - beatenAt, 2 * HEARTBEAT_INTERVAL_MS);
  assert.deepEqual([peerOf(actor).overdue, peerOf(actor).status], [true, 'ACTIVE']);
  const turn = actor.fire('silence');
  assert.equal(actor.now - beatenAt, 3 * HEARTBEAT_INTERVAL_MS);
  assert.deepEqual(turn.events[0]?.payload, { from: 'ACTIVE', to: 'UNHEALTHY', reason: 'heartbeats_missed' });
  assert.equal(actor.timers.has('silence'), false);
  beat(actor);
  assert.deepEqual([peerOf(actor).overdue, peerOf(actor).status], [false, 'ACTIVE']);
});

test('a heartbeat delivers the commands in order; a waiting command keeps its place and takes the newer content', () => {
  const actor = registered();
  actor.send('SyncConfig', { config_version: HASH_A });
  actor.send('Shutdown', { reason: 'first' });
  actor.send('Drain', {});
  actor.send('SyncConfig', { config_version: HASH_B });
  actor.send('Shutdown', { reason: 'second' });
  assert.deepEqual(commandsOf(beat(actor)), [
    { command: 'sync_config', config_version: HASH_B },
    { command: 'shutdown', reason: 'second' },
    { command: 'drain' },
  ]);
  assert.deepEqual(commandsOf(beat(actor)), []);
});

test('for any order of commands and heartbeats each queued command is delivered once, in order, in its newest form', () => {
  const step = fc.oneof(
    fc.constant({ kind: 'beat' } as const),
    fc.constant({ kind: 'strange beat' } as const),
    fc.constant({ kind: 'register' } as const),
    fc.constant({ kind: 'drain' } as const),
    fc.record({ kind: fc.constant('shutdown' as const), reason: fc.string({ maxLength: 8 }) }),
    fc.record({ kind: fc.constant('sync_config' as const), version: fc.constantFrom(HASH_A, HASH_B) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const actor = registered();
      /** The model: what waits, in order of first queueing. */
      let waiting: { command: string; [field: string]: string }[] = [];
      const queue = (command: { command: string; [field: string]: string }): void => {
        const same = waiting.findIndex((one) => one.command === command.command);
        if (same === -1) waiting.push(command);
        else waiting[same] = command;
      };
      for (const one of [...steps, { kind: 'beat' } as const, { kind: 'beat' } as const]) {
        if (one.kind === 'register') actor.send('Register', registration);
        else if (one.kind === 'strange beat') beat(actor, 'ACTIVE', { peer_id: 'another' });
        else if (one.kind === 'drain') {
          actor.send('Drain', {});
          queue({ command: 'drain' });
        } else if (one.kind === 'shutdown') {
          actor.send('Shutdown', { reason: one.reason });
          queue({ command: 'shutdown', reason: one.reason });
        } else if (one.kind === 'sync_config') {
          actor.send('SyncConfig', { config_version: one.version });
          queue({ command: 'sync_config', config_version: one.version });
        } else {
          const turn = beat(actor);
          assert.deepEqual(commandsOf(turn), waiting);
          assert.equal(namesOf(turn).filter((name) => name === 'command_delivered').length, waiting.length);
          waiting = [];
        }
      }
    }),
    { numRuns: 300 },
  );
});
