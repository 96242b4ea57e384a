import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import protobuf from 'protobufjs';
import { OPERATOR } from '../../actors/node-peer/controller.ts';
import { IndependentWorker } from './independent-worker.ts';
import { type FleetNode, fleetNode } from './node.ts';
import { encode, PageClient, root } from './page.ts';

const UUID = '7d6f1c1a-3a50-4f7b-9a55-0a4b2f1c9e01';
const MANAGED = 'apiVersion: svc.dev/v1\nkind: ManagedConfig\nspec: {runtime: {default_isolation: process}}\n';

describe('the .proto agrees with the pages of the specification', () => {
  const ours = protobuf.parse(readFileSync('proto/svc/cluster/v1/cluster.proto', 'utf8'), { keepCase: true }).root;
  const names = Object.keys(ours.lookup('svc.cluster.v1')?.toJSON().nested ?? {});
  for (const name of names.filter((one) => /^[A-Z]/.test(one) && one !== 'NodeClusterService')) {
    test(`${name} has the fields, types and numbers of the page`, () => {
      const [mine, page] = [ours, root].map((from) => from.lookupTypeOrEnum(`svc.cluster.v1.${name}`).toJSON());
      assert.deepEqual(mine, page);
    });
  }

  test('the service has the ten methods of the page', () => {
    const { methods } = ours.lookupService('svc.cluster.v1.NodeClusterService');
    assert.deepEqual(
      Object.entries(methods).map(([name, { requestType, responseStream }]) => [
        name,
        requestType,
        responseStream === true,
      ]),
      [
        ['AttestNode', 'AttestNodeRequest', false],
        ['ChallengeNode', 'ChallengeNodeRequest', false],
        ...['RegisterNode', 'Heartbeat', 'DeregisterNode', 'RouteExecution'].map((name) => [
          name,
          'SealNodeEnvelope',
          false,
        ]),
        ['ForwardExecution', 'SealNodeEnvelope', true],
        ...['SyncConfig', 'PushConfig', 'ListPeers'].map((name) => [name, 'SealNodeEnvelope', false]),
      ],
    );
  });
});

describe('a worker written from the tables of the specification alone', { timeout: 300_000 }, () => {
  let at: FleetNode;
  let client: PageClient;
  before(async () => {
    at = await fleetNode();
    client = new PageClient(at.address);
  });
  after(async () => {
    client.close();
    await at[Symbol.asyncDispose]();
  });

  test('attests, registers, heartbeats, is routed to, is listed and leaves', async () => {
    const worker = new IndependentWorker('stranger-1', client);
    const proven = await worker.prove();
    const leftMs = Date.parse(String(proven.message.expires_at)) - Date.now();
    assert.ok(leftMs > 3_500_000 && leftMs <= 3_600_000, 'the token is good for an hour');

    const registered = await worker.register(
      { tags: ['gpu', 'zone:eu'] },
      { 'svc-node-grpc-address': 'w1.example:7000' },
    );
    assert.equal(registered.code, 'OK', registered.details);
    const beaten = await worker.heartbeat();
    assert.equal(beaten.code, 'OK', beaten.details);
    assert.deepEqual(beaten.message.commands, []);

    const routed = await worker.call('RouteExecution', {
      execution_id: UUID,
      required: { gpu_count: 1, tags: ['zone:eu'] },
    });
    assert.equal(routed.code, 'OK', routed.details);
    assert.deepEqual(routed.message, { target_node_id: 'stranger-1', worker_grpc_address: 'w1.example:7000' });

    const listed = await worker.call('ListPeers');
    const peers = listed.message.peers;
    assert.ok(Array.isArray(peers) && peers.length === 1);
    const { last_heartbeat_at, ...peer } = peers[0];
    assert.match(String(last_heartbeat_at), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.deepEqual(peer, {
      node_id: 'stranger-1',
      role: 1,
      capabilities: {
        gpu_count: 1,
        vram_gb: 24,
        cpu_cores: 8,
        available_memory_gb: 32,
        supported_runtimes: ['python'],
        tags: ['gpu', 'zone:eu'],
      },
      status: 0,
      grpc_address: 'w1.example:7000',
    });
    assert.deepEqual((await worker.call('ListPeers', { filter_status: 0 })).message.peers, peers);
    assert.deepEqual((await worker.call('ListPeers', { filter_status: 2 })).message.peers, []);

    const left = await worker.call('DeregisterNode', { node_id: 'stranger-1', reason: 'graceful_shutdown' });
    assert.deepEqual([left.code, left.message], ['OK', { accepted: true }]);
    const again = await worker.call('DeregisterNode');
    assert.deepEqual([again.code, again.message], ['OK', { accepted: false }], 'an empty request speaks of its sender');
  });

  test('gets drain, shutdown and sync_config once each, in the order they were given', async () => {
    const worker = await new IndependentWorker('stranger-2', client).join();
    await at.peers.drain('stranger-2', OPERATOR);
    await at.peers.shutdown('stranger-2', 'maintenance', OPERATOR);
    const { config_yaml, config_hash } = await at.peers.setConfig(MANAGED, OPERATOR);
    const { message } = await worker.heartbeat({ status: 1 });
    assert.ok(Array.isArray(message.commands));
    assert.deepEqual(
      message.commands.map((command) => command.command),
      ['drain', 'shutdown', 'sync_config'],
    );
    assert.deepEqual(message.commands[0].drain, { drain: true });
    assert.deepEqual(message.commands[1].shutdown, { reason: 'maintenance' });
    assert.equal(message.commands[2].sync_config.config_version, config_hash);
    assert.deepEqual((await worker.heartbeat({ status: 1 })).message.commands, []);

    const { message: config } = await worker.call('SyncConfig');
    assert.deepEqual(config, { config_yaml, config_hash });
    // Its version is a comment above the text.
    assert.match(config_yaml, /^# version \d+\n/);
    assert.ok(config_yaml.endsWith(`\n${MANAGED}`));
    assert.equal(createHash('sha256').update(String(config.config_yaml)).digest('hex'), config_hash);
    await worker.call('DeregisterNode');
  });

  test('without an announced address a worker is reached where it calls from, at the default port', async () => {
    const worker = await new IndependentWorker('stranger-3', client).join();
    assert.equal((await at.peers.get('stranger-3')).grpc_address, '127.0.0.1:50056');
    await worker.call('DeregisterNode');
  });

  test('a draining worker gets no new work, and work without a worker is named', async () => {
    const worker = await new IndependentWorker('stranger-4', client).join();
    const unfit = await worker.call('RouteExecution', { execution_id: UUID, required: { tags: ['tpu'] } });
    assert.equal(unfit.code, 'RESOURCE_EXHAUSTED');
    assert.match(unfit.details, /tpu/);
    assert.equal(unfit.metadata.at(-1)?.get('svc-error-code')[0], 'no_capable_worker');
    await worker.heartbeat({ status: 1 });
    const none = await worker.call('RouteExecution', { execution_id: UUID });
    assert.equal(none.code, 'UNAVAILABLE', none.details);
    assert.match(none.details, /worker stranger-4 has it and is draining/);
    await worker.call('DeregisterNode');
  });

  test('repeated calls are harmless: attestation, registration and an empty payload', async () => {
    const worker = await new IndependentWorker('stranger-5', client).join();
    const { peerId } = worker;
    await worker.join({ tags: ['other'] });
    assert.equal(worker.peerId, peerId);
    assert.deepEqual((await at.peers.get('stranger-5')).capabilities.tags, ['other']);
    const listed = await client.unary('ListPeers', worker.seal(Buffer.alloc(0)), worker.metadata());
    assert.equal(listed.code, 'OK');
    assert.deepEqual(encode('SyncConfigRequest', {}).length, 0);
    await worker.call('DeregisterNode');
  });
});
