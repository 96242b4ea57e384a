import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { type NodeCommand, NodePeerStatus } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../runtime/errors.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type ControllerStandIn, FleetState, startController } from './controller-stand-in.ts';
import { RegisteredNode } from './registered-node.ts';

const open: ControllerStandIn[] = [];
async function controllerOf(fleet: FleetState): Promise<ControllerStandIn> {
  const controller = await startController(fleet);
  open.push(controller);
  return controller;
}
after(async () => {
  await Promise.all(open.map((controller) => controller.stop()));
});

const DRAIN: NodeCommand = { command: { $case: 'drain', value: { drain: true } } };
const SHUTDOWN: NodeCommand = { command: { $case: 'shutdown', value: { reason: 'maintenance' } } };
const syncTo = (yaml: string): NodeCommand => ({
  command: {
    $case: 'sync_config',
    value: { config_version: createHash('sha256').update(yaml).digest('hex'), config_payload: Buffer.alloc(0) },
  },
});
const beatsMore = async (fleet: FleetState, count: number): Promise<void> => {
  const seen = fleet.beats.length;
  await waitUntil(`${count} more heartbeats`, () => fleet.beats.length >= seen + count);
};

describe('commands of heartbeats', () => {
  test('drain is executed once, however often it is sent, and the node reports DRAINING at once', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address], { heartbeatIntervalMs: 600_000 });
    await waitUntil('registered', () => fleet.beats.length === 1);
    fleet.queued.push(DRAIN, DRAIN);
    setup.registration.heartbeatNow();
    await waitUntil('DRAINING', () => fleet.beats.at(-1)?.beat.status === NodePeerStatus.DRAINING);
    fleet.queued.push(DRAIN);
    setup.registration.heartbeatNow();
    await beatsMore(fleet, 1);
    await waitUntil('the queue to be empty', () => fleet.queued.length === 0);
    assert.deepEqual([setup.drains.length, setup.registration.state().draining], [1, true]);
  });

  test('heartbeats go on during a drain, and a failed drain is reported', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    let give: () => void = () => {};
    const drained = new Promise<void>((resolve) => {
      give = resolve;
    });
    await using setup = new RegisteredNode([address], {
      onDrain: async () => {
        await drained;
        throw new SvcError('unavailable', 'no node takes the partitions');
      },
    });
    fleet.queued.push(DRAIN);
    await waitUntil('DRAINING', () => fleet.beats.at(-1)?.beat.status === NodePeerStatus.DRAINING);
    await beatsMore(fleet, 3);
    give();
    await waitUntil('the failed command in the log', () =>
      setup.said('error', /command of a controller failed.*no node takes/),
    );
  });

  test('shutdown brings its reason, once, and may stop the registration itself', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    const reasons: string[] = [];
    const setup = new RegisteredNode([address], {
      onShutdown: async (reason) => {
        reasons.push(reason);
        await setup.registration.stop();
      },
    });
    fleet.queued.push(SHUTDOWN, SHUTDOWN);
    await waitUntil('the registration to stop', () => setup.registration.state().phase === 'stopped');
    assert.deepEqual(reasons, ['maintenance']);
    assert.equal(fleet.deregistered.length, 1);
  });

  test('an unknown command and a refused drain do no harm', async () => {
    const fleet = new FleetState();
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address]);
    fleet.queued.push({ command: undefined }, { command: { $case: 'drain', value: { drain: false } } });
    await waitUntil(
      'both to be reported',
      () => setup.said('warn', /does not know/) && setup.said('warn', /without drain: true/),
    );
    await beatsMore(fleet, 2);
    assert.deepEqual([setup.drains, setup.registration.state().draining], [[], false]);
  });
});

describe('configuration of the controllers', () => {
  test('is fetched with the registration and with sync_config, and applied once each', async () => {
    const fleet = new FleetState();
    fleet.setConfig('one: 1\n');
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address]);
    await waitUntil('the first configuration', () => setup.configs.length === 1);
    fleet.setConfig('two: 2\n');
    fleet.queued.push(syncTo('two: 2\n'));
    await waitUntil('the second configuration', () => setup.configs.length === 2);
    await beatsMore(fleet, 3);
    assert.deepEqual(setup.configs, ['one: 1\n', 'two: 2\n']);
    assert.equal(fleet.count('SyncConfig'), 2);
  });

  test('with a wrong hash is not applied, and fetched again with the next heartbeat', async () => {
    const fleet = new FleetState();
    fleet.setConfig('one: 1\n', createHash('sha256').update('another').digest('hex'));
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address]);
    await waitUntil('two attempts', () => fleet.count('SyncConfig') >= 2);
    assert.deepEqual(setup.configs, []);
    assert.ok(setup.said('warn', /could not be fetched.*config_hash: expected the SHA-256/));
    fleet.setConfig('one: 1\n');
    await waitUntil('the valid configuration', () => setup.configs.length === 1);
  });

  test('that cannot be fetched or stored is tried again, and heartbeats go on', async () => {
    const fleet = new FleetState();
    fleet.setConfig('one: 1\n');
    const controller = await controllerOf(fleet);
    controller.fault = (method) => (method === 'SyncConfig' ? 'UNAVAILABLE' : undefined);
    await using setup = new RegisteredNode([controller.address]);
    await beatsMore(fleet, 3);
    let full = true;
    setup.verdict = async () => {
      if (!full) return { accepted: true };
      full = false;
      throw new SvcError('unavailable', 'the disk is full');
    };
    controller.fault = () => undefined;
    await waitUntil('the configuration to be in force', () => setup.said('info', /is in force/));
    assert.deepEqual(setup.configs, ['one: 1\n', 'one: 1\n']);
  });

  test('that is rejected is reported with its reason and not applied again', async () => {
    const fleet = new FleetState();
    fleet.setConfig('one: 1\n');
    const { address } = await controllerOf(fleet);
    await using setup = new RegisteredNode([address], {
      applyConfig: async () => ({ accepted: false, reason: 'spec.nodes: unknown key "gpus"' }),
    });
    await waitUntil('the reason of the rejection in the log', () =>
      setup.said('error', /rejected.*unknown key "gpus"/),
    );
    await beatsMore(fleet, 3);
    assert.equal(fleet.count('SyncConfig'), 1);
  });

  test('whose command was in an answer that got lost is fetched all the same', async () => {
    const fleet = new FleetState();
    fleet.setConfig('one: 1\n');
    const controller = await controllerOf(fleet);
    await using setup = new RegisteredNode([controller.address]);
    await waitUntil('the first configuration', () => setup.configs.length === 1);
    let refused = 0;
    let lost = 0;
    controller.fault = (method) => {
      if (method !== 'Heartbeat' || lost > 0) return undefined;
      refused += 1;
      // The command is taken from the queue, and then the answer is lost.
      lost = fleet.queued.splice(0).length;
      return 'UNAVAILABLE';
    };
    // A node sends one heartbeat at a time, so no earlier one can take the command any more.
    await waitUntil('a heartbeat without an answer', () => refused > 0);
    fleet.setConfig('two: 2\n');
    fleet.queued.push(syncTo('two: 2\n'));
    await waitUntil('the second configuration', () => setup.configs.at(-1) === 'two: 2\n');
    assert.equal(lost, 1);
  });
});
