import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { NodePeerStatus } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { startLink } from '../support/link.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type ControllerStandIn, FleetState, startController } from './controller-stand-in.ts';
import { RegisteredNode } from './registered-node.ts';

const open: ControllerStandIn[] = [];
async function controllerOf(fleet: FleetState, port = 0): Promise<ControllerStandIn> {
  const controller = await startController(fleet, port);
  open.push(controller);
  return controller;
}
after(async () => {
  await Promise.all(open.map((controller) => controller.stop()));
});

/** A loopback address where nothing listens. */
async function deadAddress(): Promise<{ readonly address: string; readonly port: number }> {
  const { address, port, stop } = await startController(new FleetState());
  await stop();
  return { address, port };
}

const beats = (fleet: FleetState, count: number) =>
  waitUntil(`${count} heartbeats`, () => fleet.beats.length >= count && fleet.beats);

describe('registration', () => {
  test('a node proves its key, registers what it offers and heartbeats its load', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address]);
    const [first] = await beats(fleet, 2);
    const peer = fleet.peers.get('worker-1');
    assert.equal(peer?.grpcAddress, '10.0.0.7:50056');
    assert.deepEqual([peer?.capabilities?.gpu_count, peer?.capabilities?.tags], [1, ['gpu']]);
    assert.equal(first?.beat.peer_id, peer?.peerId);
    assert.equal(first?.beat.active_execution_count, 3);
    assert.equal(first?.beat.status, NodePeerStatus.ACTIVE);
    const memory = first?.beat.memory_utilization_percent ?? 0;
    assert.ok(memory > 0 && memory <= 100, `memory ${memory} %`);
    const state = setup.registration.state();
    assert.deepEqual([state.phase, state.peerId, state.problem], ['registered', peer?.peerId, null]);
  });

  test('a hundred heartbeats are one connection, one attestation and one registration', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using _node = new RegisteredNode([address], { heartbeatIntervalMs: 1 });
    await beats(fleet, 100);
    assert.deepEqual(
      [fleet.connections.size, fleet.count('AttestNode'), fleet.count('RegisterNode')],
      [1, 1, 1],
      'connections, attestations, registrations',
    );
  });

  test('a node that changes its tags registers again', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address]);
    await beats(fleet, 1);
    setup.tags = ['gpu', 'zone:eu'];
    await waitUntil('the new tags', () => fleet.peers.get('worker-1')?.capabilities?.tags.includes('zone:eu'));
    assert.equal(fleet.count('AttestNode'), 1);
  });

  test('a node that drains says so in its heartbeats', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address]);
    await beats(fleet, 1);
    setup.draining = true;
    await waitUntil('DRAINING', () => fleet.beats.at(-1)?.beat.status === NodePeerStatus.DRAINING);
  });

  test('heartbeatNow heartbeats at once, long before the interval', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address], { heartbeatIntervalMs: 600_000 });
    await beats(fleet, 1);
    setup.registration.heartbeatNow();
    await beats(fleet, 2);
  });

  test('a node that stops deregisters with its reason, once', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    const setup = new RegisteredNode([address]);
    await beats(fleet, 1);
    await Promise.all([setup.registration.stop(), setup.registration.stop('again')]);
    assert.deepEqual(fleet.deregistered, [{ nodeId: 'worker-1', reason: 'graceful_shutdown' }]);
    assert.equal(fleet.peers.size, 0);
    assert.equal(setup.registration.state().phase, 'stopped');
  });

  test('no token, nonce, signature or join token reaches the log', async () => {
    const fleet = new FleetState();
    fleet.joinToken = 'let-me-in-please';
    fleet.tokenLifetimeSecs = 2;
    const { address, port, stop } = await controllerOf(fleet);
    const setup = new RegisteredNode([address], {
      joinToken: async () => 'let-me-in-please',
      tokenRefreshMarginMs: 1_500,
    });
    await beats(fleet, 1);
    await stop();
    await waitUntil('the failure to be logged', () => setup.said('warn', /not registered/));
    const again = await controllerOf(fleet, port);
    again.fault = (method) => (method === 'SyncConfig' ? 'INTERNAL' : undefined);
    await waitUntil('a renewal', () => fleet.count('ChallengeNode') >= 3);
    await setup.registration.stop();
    const log = setup.lines.map(({ text }) => text).join('\n');
    for (const secret of [...fleet.secrets, fleet.joinToken]) assert.ok(!log.includes(secret), 'a secret in the log');
  });
});

describe('controllers that fail', () => {
  test('a controller that is down at the start is waited for', async () => {
    const fleet = new FleetState();
    const { address, port } = await deadAddress();
    await using setup = new RegisteredNode([address]);
    await waitUntil('the first failure', () => setup.registration.state().phase === 'unreachable');
    await controllerOf(fleet, port);
    await beats(fleet, 1);
    await waitUntil('the node to be registered again', () => setup.registration.state().phase === 'registered');
  });

  test('an address that does not resolve and one without a listener do not keep a node from the third', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    const dead = await deadAddress();
    await using setup = new RegisteredNode(['no-such-host.invalid:50056', dead.address, address]);
    await beats(fleet, 3);
    assert.equal(setup.registration.state().controller, address);
  });

  test('when one of two controllers dies the other gets the heartbeats, without another registration', async () => {
    const fleet = new FleetState();
    const [one, two] = [await controllerOf(fleet), await controllerOf(fleet)];
    await using _node = new RegisteredNode([one.address, two.address]);
    await beats(fleet, 2);
    assert.deepEqual(new Set(fleet.beats.map(({ port }) => port)), new Set([one.port]));
    await one.stop();
    await waitUntil('heartbeats at the other', () => fleet.beats.filter(({ port }) => port === two.port).length >= 3);
    assert.deepEqual([fleet.count('AttestNode'), fleet.count('RegisterNode')], [1, 1]);
  });

  test('a node leaves a controller that answers UNAVAILABLE or not at all for the next, and asks that one first from then on', async () => {
    for (const fault of ['UNAVAILABLE', 'hang'] as const) {
      const fleet = new FleetState();
      const [one, two] = [await controllerOf(fleet), await controllerOf(fleet)];
      await using setup = new RegisteredNode([one.address, two.address], { callTimeoutMs: 100 });
      await beats(fleet, 1);
      one.fault = () => fault;
      await waitUntil('heartbeats at the other', () => fleet.beats.filter(({ port }) => port === two.port).length >= 3);
      assert.equal(setup.registration.state().controller, two.address, fault);
    }
  });

  test('a listed node that is no controller is skipped, even while the right one is unavailable', async () => {
    const fleet = new FleetState();
    const [mistake, right] = [await controllerOf(new FleetState()), await controllerOf(fleet)];
    mistake.fault = () => 'FAILED_PRECONDITION';
    await using setup = new RegisteredNode([mistake.address, right.address]);
    await beats(fleet, 1);
    await right.stop();
    await waitUntil('the state to name a problem', () => setup.registration.state().problem !== null);
    await controllerOf(fleet, right.port);
    const seen = fleet.beats.length;
    await beats(fleet, seen + 2);
    assert.equal(setup.registration.state().controller, right.address);
  });

  test('a node goes on after a controller was restarted with lost state: it attests and registers again', async () => {
    const fleet = new FleetState();
    const { address, port, stop } = await controllerOf(fleet);
    await using _node = new RegisteredNode([address]);
    await beats(fleet, 1);
    await stop();
    await fleet.loseEverything();
    fleet.beats.length = 0;
    await controllerOf(fleet, port);
    await beats(fleet, 2);
    assert.equal(fleet.peers.size, 1);
  });

  test('a network that drops all packets silently, and recovers, costs no registration', async () => {
    const fleet = new FleetState();
    const { port } = await controllerOf(fleet);
    await using link = await startLink(port);
    await using setup = new RegisteredNode([`127.0.0.1:${link.port}`], { callTimeoutMs: 100 });
    await beats(fleet, 2);
    // On a busy machine a call before the registration may time out.
    const before = [fleet.count('AttestNode'), fleet.count('RegisterNode')];
    link.cut('both');
    await waitUntil('the silence to be noticed', () => setup.registration.state().phase === 'unreachable');
    link.heal();
    const seen = fleet.beats.length;
    await beats(fleet, seen + 3);
    await waitUntil('the node to be registered again', () => setup.registration.state().phase === 'registered');
    assert.deepEqual([fleet.count('AttestNode'), fleet.count('RegisterNode')], before);
  });

  test('a registration that was lost alone is made again with the same token', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using _node = new RegisteredNode([address]);
    await beats(fleet, 1);
    fleet.peers.clear();
    await waitUntil('the second registration', () => fleet.peers.size === 1);
    assert.deepEqual([fleet.count('AttestNode'), fleet.count('RegisterNode')], [1, 2]);
  });

  test('a stop does not wait longer than its bound for controllers that hang, however many', async () => {
    const fleet = new FleetState();
    // A second for each of them would be 30 s.
    const controllers = await Promise.all(Array.from({ length: 30 }, () => controllerOf(fleet)));
    const addresses = controllers.map(({ address }) => address);
    const setup = new RegisteredNode(addresses, { callTimeoutMs: 60_000 });
    // The second call comes after the request for the configuration, so it is a heartbeat that hangs.
    await beats(fleet, 2);
    for (const controller of controllers) controller.fault = () => 'hang';
    const seen = fleet.count('Heartbeat');
    await waitUntil('a heartbeat that hangs', () => fleet.count('Heartbeat') > seen);
    const startedAt = performance.now();
    await setup.registration.stop();
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs < 20_000, `the stop took ${Math.round(tookMs)} ms`);
    assert.ok(setup.said('warn', /could not deregister/));
  });
});

describe('refusals', () => {
  test('a wrong join token is logged as an error and not tried again at once', async () => {
    const fleet = new FleetState();
    fleet.joinToken = 'right';
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address], { joinToken: async () => 'wrong' });
    await waitUntil('the node to be refused', () => setup.registration.state().phase === 'refused');
    assert.ok(setup.said('error', /join token is wrong/));
    assert.equal(fleet.count('AttestNode'), 1);
    // An operator has corrected it and restarts the registration.
    fleet.joinToken = 'wrong';
    setup.registration.heartbeatNow();
    await beats(fleet, 1);
  });

  test('a node whose id is pinned to another key retries with pauses, never in a busy loop', async () => {
    const fleet = new FleetState();
    fleet.pinned.set('worker-1', 'the key of another');
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address], { refusedPauseMs: 50 });
    const startedAt = performance.now();
    await waitUntil('four attempts', () => fleet.count('AttestNode') >= 4);
    assert.ok(performance.now() - startedAt >= 145, 'three pauses between four attempts');
    const told = setup.lines.filter(({ level }) => level === 'error');
    assert.equal(told.length, 1, 'the same refusal is one line');
    assert.match(told[0]?.text ?? '', /another key is pinned/);
    fleet.pinned.clear();
    await beats(fleet, 1);
  });

  test('a join token that no metadata can hold is refused without showing it', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address], { joinToken: async () => 'gehe\u00efm\u2603' });
    await waitUntil('the node to be refused', () => setup.registration.state().phase === 'refused');
    assert.ok(setup.said('error', /svc-join-token: expected/));
    assert.ok(!setup.lines.some(({ text }) => text.includes('gehe')));
  });
});

describe('the node token', () => {
  test('is renewed before it ends, and the registration stays', async () => {
    const fleet = new FleetState();
    fleet.tokenLifetimeSecs = 3;
    const { address } = await controllerOf(fleet);
    await using _node = new RegisteredNode([address], { tokenRefreshMarginMs: 2_000 });
    await waitUntil('a renewal', () => fleet.count('ChallengeNode') >= 2);
    const seen = fleet.beats.length;
    await beats(fleet, seen + 3);
    assert.equal(fleet.count('RegisterNode'), 1);
  });

  test('that a controller refuses is renewed at once, and the registration stays', async () => {
    const fleet = new FleetState();
    const controller = await controllerOf(fleet);
    await using _node = new RegisteredNode([controller.address]);
    await beats(fleet, 1);
    let refusals = 1;
    controller.fault = (method) => (method === 'Heartbeat' && refusals-- > 0 ? 'UNAUTHENTICATED' : undefined);
    await waitUntil('another attestation', () => fleet.count('AttestNode') === 2);
    const seen = fleet.beats.length;
    await beats(fleet, seen + 3);
    assert.deepEqual([fleet.count('AttestNode'), fleet.count('RegisterNode')], [2, 1]);
  });

  test('is used on while its renewal fails', async () => {
    const fleet = new FleetState();
    fleet.tokenLifetimeSecs = 4;
    const controller = await controllerOf(fleet);
    await using setup = new RegisteredNode([controller.address], { tokenRefreshMarginMs: 3_900 });
    await beats(fleet, 1);
    controller.fault = (method) => (method === 'AttestNode' ? 'INTERNAL' : undefined);
    await waitUntil('the failed renewal to be logged', () => setup.said('warn', /could not be renewed/));
    const seen = fleet.beats.length;
    await beats(fleet, seen + 3);
    controller.fault = () => undefined;
    await waitUntil('the renewal', () => fleet.count('ChallengeNode') >= 2);
    assert.equal(fleet.count('RegisterNode'), 1);
  });

  test('is valid for its full lifetime where clocks differ by two minutes', async () => {
    for (const clockOffsetSecs of [-120, 120]) {
      const fleet = new FleetState();
      fleet.clockOffsetSecs = clockOffsetSecs;
      fleet.tokenLifetimeSecs = 60;
      const { address } = await controllerOf(fleet);
      await using _node = new RegisteredNode([address], { tokenRefreshMarginMs: 10_000 });
      await beats(fleet, 20);
      assert.equal(fleet.count('AttestNode'), 1, `offset ${clockOffsetSecs} s`);
    }
  });
});
