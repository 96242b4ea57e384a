import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { RegistrationOptions } from '../../cluster/registration/registration.ts';
import { systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { openNodeAdmission } from '../../security/join-tokens/node-admission.ts';
import { createFileKeys } from '../../security/keys/file-keys.ts';
import { createPublishedKeys } from '../../security/keys/published-keys.ts';
import { openNodeEnvelope } from '../../security/node-envelope.ts';
import { loadOrMakeNodeKey } from '../../security/node-key.ts';
import { createProofGuard } from '../../security/node-proofs/guard.ts';
import { openPins } from '../../security/node-proofs/proof.ts';
import { createNodeTokens } from '../../security/node-tokens.ts';
import { createClusterServer } from '../../transport/grpc/cluster/server.ts';
import type { NodePeer } from '../../usecases/node-api.ts';
import { OPERATOR, startController } from '../actors/node-peer/controller.ts';
import { waitUntil } from '../support/wait-until.ts';
import { newNodeKey, RegisteredNode } from './registered-node.ts';

const JOIN_TOKEN = 'let-me-in-please';
const MANAGED = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {runtime: {default_isolation: process}}\n';

/** A controller of the product's own parts on SQLite files: actors, signing keys, envelopes and the gRPC server. */
async function realController(directory: string) {
  const controller = await startController(directory);
  const keys = createFileKeys({
    directory: join(directory, 'signing-keys'),
    rotateAfterDays: 30,
    clock: systemClock,
  });
  await keys.open();
  const published = createPublishedKeys({ documents: controller.stores.documents, clock: systemClock });
  const tokens = createNodeTokens({ keys, published, clock: systemClock });
  const joins = await openNodeAdmission({
    ...{ documents: controller.stores.documents, clock: systemClock, required: true, audit: () => {} },
    joinToken: async () => JOIN_TOKEN,
  });
  const pins = await openPins({ documents: controller.stores.documents, clock: systemClock });
  const server = createClusterServer({
    peers: controller.peers,
    tokens,
    openEnvelope: (authorization, envelope) => openNodeEnvelope({ tokens }, authorization, envelope),
    proofs: createProofGuard({ node: 'controller-1', pins, required: false, clock: systemClock }),
    worker: null,
    controller: true,
    joins,
    tls: null,
    health: { ready: async () => ({ ready: true }) },
    logger: {
      debug: () => {},
      warn: () => {},
      error: (fields, message) => assert.fail(`${message} ${String(fields.err)}`),
    },
  });
  const address = await server.listen('127.0.0.1', 0);
  const { peers } = controller;
  return {
    peers,
    keys,
    address,
    /** Null while the node is not registered. */
    async peer(nodeId: string): Promise<NodePeer | null> {
      return await peers.get(nodeId).catch((error: unknown) => {
        if (error instanceof SvcError && error.code === 'not_found') return null;
        throw error;
      });
    },
    async stop() {
      await server.close();
      await controller.stop();
      await keys.close();
    },
  };
}

describe('registration at a real controller', () => {
  let directory = '';
  let controller: Awaited<ReturnType<typeof realController>>;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-registration-'));
    controller = await realController(join(directory, 'controller'));
  });
  after(async () => {
    await controller.stop();
    await rm(directory, { recursive: true });
  });
  const register = (nodeId: string, given: Partial<RegistrationOptions> = {}): RegisteredNode =>
    new RegisteredNode([controller.address], { nodeId, joinToken: async () => JOIN_TOKEN, ...given });
  const beaten = (nodeId: string) =>
    waitUntil(`a heartbeat of ${nodeId}`, async () => {
      const peer = await controller.peer(nodeId);
      return peer !== null && peer.last_heartbeat_at !== '' && peer;
    });

  test('a node with a key file registers what it offers, heartbeats, and is gone when it stops', async () => {
    const key = await loadOrMakeNodeKey(join(directory, 'worker', 'node-key.pem'));
    const setup = register('worker-1', { key });
    const peer = await beaten('worker-1');
    assert.deepEqual([peer.role, peer.status, peer.grpc_address], ['WORKER', 'ACTIVE', '10.0.0.7:50056']);
    assert.deepEqual([peer.capabilities.vram_gb, peer.capabilities.tags], [24, ['gpu']]);
    assert.equal(peer.peer_id, setup.registration.state().peerId);
    assert.equal((await controller.peers.route({ tags: ['gpu'] })).nodeId, 'worker-1');
    const first = peer.last_heartbeat_at;
    await waitUntil('a later heartbeat', async () => (await controller.peer('worker-1'))?.last_heartbeat_at !== first);
    await setup.registration.stop();
    assert.equal(await controller.peer('worker-1'), null);
  });

  test('an operator’s drain and shutdown reach the node once each', async () => {
    await using setup = register('worker-2');
    await beaten('worker-2');
    await controller.peers.drain('worker-2', OPERATOR);
    await waitUntil('the drain', () => setup.drains.length > 0);
    await controller.peers.shutdown('worker-2', 'maintenance', OPERATOR);
    await waitUntil('the shutdown', () => setup.shutdowns.length > 0);
    await waitUntil('an empty queue', async () => (await controller.peer('worker-2'))?.pending_commands.length === 0);
    assert.equal((await controller.peer('worker-2'))?.status, 'DRAINING');
    assert.deepEqual([setup.drains.length, setup.shutdowns], [1, ['maintenance']]);
  });

  test('managed configuration arrives with the hash that controllers made of it', async () => {
    await using setup = register('worker-3');
    await beaten('worker-3');
    const { config_yaml } = await controller.peers.setConfig(MANAGED, OPERATOR);
    await waitUntil('the configuration', () => setup.configs.includes(config_yaml));
    assert.ok(!setup.lines.some(({ level }) => level === 'error'), JSON.stringify(setup.lines));
  });

  test('without the join token, or with another key for a known id, a node is refused and says why', async () => {
    await using stranger = register('worker-4', { joinToken: undefined });
    await waitUntil('the refusal', () => stranger.registration.state().phase === 'refused');
    assert.ok(stranger.said('error', /svc-join-token/));

    await using first = register('worker-5');
    await beaten('worker-5');
    await using impostor = register('worker-5', { key: newNodeKey() });
    await waitUntil('the refusal', () => impostor.registration.state().phase === 'refused');
    assert.equal(first.registration.state().phase, 'registered');
  });

  test('a rotation of the signing key costs a node nothing', async () => {
    await using setup = register('worker-6');
    await beaten('worker-6');
    await controller.keys.rotate();
    const at = setup.registration.state().lastHeartbeatAt ?? 0;
    await waitUntil('heartbeats after it', () => (setup.registration.state().lastHeartbeatAt ?? 0) > at + 100);
    assert.ok(!setup.said('warn', /not registered/));
    await using second = register('worker-7');
    await beaten('worker-7');
    assert.equal(second.registration.state().problem, null);
  });

  test('a node that an operator removed registers again when it still runs', async () => {
    await using setup = register('worker-8');
    const before = await beaten('worker-8');
    await controller.peers.remove('worker-8', OPERATOR);
    const again = await waitUntil('the registration', async () => {
      const peer = await controller.peer('worker-8');
      return peer !== null && peer.peer_id !== before.peer_id && peer;
    });
    await waitUntil(
      'the node to be registered under the new peer id',
      () => setup.registration.state().peerId === again.peer_id,
    );
  });
});
